//! Prints docs/policy.schema.json: the JSON Schema of the policy document.

fn main() {
    println!("{:#}", conformance::schema::schema());
}
