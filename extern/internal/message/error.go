package message

import "syscall"

// CallError is an exception that the function raised, or an invalid result. The worker
// lives on.
type CallError struct {
	Where     string `json:"where"`     // the user's own line: "augment (train.py:12)"
	Type      string `json:"type"`      // "ValueError", with its module where that is not builtins
	Message   string `json:"message"`   // str() of the exception
	Traceback string `json:"traceback"` // as Python writes it, from the user's function on
	Field     string `json:"field"`     // of a result that does not fit: which
	Ends      bool   `json:"ends"`      // it is no matter of a sample: the object's state_dict() has failed
	Key       string `json:"key"`       // the name of the sample, where Options.Keys tells it
	Errno     int    `json:"errno"`     // of an OSError that no sample is to blame for: descriptors, memory or space are used up; 0: none
	Step      string `json:"step"`      // of a chain: the step whose function it was
	// it is no exception: a coroutine took longer than its time limit, and was
	// cancelled; Traceback is where it was
	Overdue bool `json:"overdue"`
}

// Unwrap returns the system's error if no sample is to blame.
func (e *CallError) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return syscall.Errno(e.Errno)
}

// Error is like "augment (train.py:12): ValueError: no such crop".
func (e *CallError) Error() string {
	text := e.Type
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.Where != "" {
		text = e.Where + ": " + text
	}
	if e.Step != "" {
		text = e.Step + ": " + text
	}
	return text
}
