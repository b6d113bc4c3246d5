package core

// A StepError is the failure of one step of several that a stage carries out.
type StepError struct {
	Step string
	Err  error
}

// Error adds nothing: who reports the error says where it was.
func (e *StepError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *StepError) Unwrap() error { return e.Err }
