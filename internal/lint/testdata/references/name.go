package references

func name() []T { return nil }
