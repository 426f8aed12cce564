"""What a deployment can switch on in addition to the contract."""
