package references

// Method refers to the type.
func (t T) Method() int { return 0 }
