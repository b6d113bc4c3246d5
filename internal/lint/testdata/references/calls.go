package references

func calls() int { return new(T).Method() }
