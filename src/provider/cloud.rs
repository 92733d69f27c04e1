//! Names of models that run elsewhere, whatever machine the server is on: whoever speaks with such a
//! server by any wire has to know. It refuses to know the wires.

/// True if a model of this name runs on the vendor's machines.
pub fn is_cloud(name: &str) -> bool {
    name.ends_with(":cloud") || name.ends_with("-cloud")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_by_its_end_that_a_model_runs_elsewhere() {
        assert!(is_cloud("gpt-oss:120b-cloud") && is_cloud("x:cloud"));
        assert!(!is_cloud("cloudy:1b") && !is_cloud("cloud"));
    }
}
