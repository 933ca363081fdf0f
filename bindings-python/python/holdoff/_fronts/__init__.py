"""The clients that `holdoff.wrap` takes, a module each. Loaded when they are used."""
