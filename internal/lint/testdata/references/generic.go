package references

type list[E any] struct{ first E }

func (l *list[E]) head() E { return l.first }
