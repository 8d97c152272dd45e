//! Prints the OpenAPI document of the API, for `make reference`.

fn main() {
    println!("{:#}", evenair_web::api_document());
}
