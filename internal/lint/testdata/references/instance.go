package references

type instance struct{ list[int] }

func (i *instance) head() int { return i.list.head() }
