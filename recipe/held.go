package recipe

// Holder is implemented by arguments that lie in a struct of another type: one that knows nothing of recipes. package headrace registers
// operations whose own fields are their arguments in this way. A Holder writes itself as JSON, as the struct would.
type Holder interface {
	Args
	// Held returns a pointer to the struct, whose fields have the tags of arguments.
	Held() any
}

// fieldsOf returns the pointer to the struct whose fields are the arguments.
func fieldsOf(args any) any {
	if h, ok := args.(Holder); ok {
		return h.Held()
	}
	return args
}

// Wrong says what is wrong with an argument, for a Check. The text goes on after the argument's name: "is 300: takes 0 to 255".
func Wrong(argument, format string, values ...any) error { return arg(argument, format, values...) }
