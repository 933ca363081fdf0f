"""boto3 with its defaults, under tenacity."""

import boto3
import tenacity

keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
table = boto3.client("dynamodb", endpoint_url="https://db.example", **keys)


@tenacity.retry(stop=tenacity.stop_after_attempt(3))
def load() -> object:
    return table.get_item(TableName="t", Key={"k": {"S": "1"}})


load()
