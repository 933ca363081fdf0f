"""boto3 in standard mode, alone."""

import boto3
from botocore.config import Config

keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
config = Config(retries={"mode": "standard", "total_max_attempts": 5})
boto3.client("s3", endpoint_url="https://s3.example", config=config, **keys).put_object(Bucket="b", Key="k", Body=b"x")
