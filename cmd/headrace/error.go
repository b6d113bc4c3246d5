package main

import "github.com/headrace/headrace/recipe"

// errorDocument describes what as_dict() of Python's errors returns. The names are those
// of python/src/headrace/_report/facts.py, and a test of the client compares them.
type errorDocument struct {
	Type    string   `json:"type" doc:"the class, such as 'SampleError'"`
	Builtin []string `json:"builtin" doc:"the built-in exceptions that it also is, such as 'ValueError'"`
	Message string   `json:"message" doc:"the whole text: what failed, why, and what to do"`

	Stage    string      `json:"stage,omitempty" doc:"the stage that failed"`
	Step     string      `json:"step,omitempty" doc:"the step that failed, if the stage runs several"`
	Source   string      `json:"source,omitempty" doc:"the name of the source's step in the recipe"`
	Key      recipe.Path `json:"key,omitempty" doc:"the sample's name; for files the path as given"`
	Index    int64       `json:"index,omitempty" doc:"its index in the source; of several inputs, which one"`
	Output   []int64     `json:"output,omitempty" doc:"which of the samples that flat_map and aggregate made of it"`
	Epoch    int         `json:"epoch,omitempty" doc:"the epoch"`
	Position int64       `json:"position,omitempty" doc:"its position in the rank's epoch of the source"`

	RemoteType      string `json:"remote_type,omitempty" doc:"the type of the exception in a worker"`
	RemoteMessage   string `json:"remote_message,omitempty" doc:"its text"`
	RemoteTraceback string `json:"remote_traceback,omitempty" doc:"its traceback"`

	Status      string          `json:"status,omitempty" doc:"how the engine ended, such as 'killed by SIGKILL'"`
	OutOfMemory bool            `json:"out_of_memory,omitempty" doc:"whether the kernel killed it for lack of memory"`
	LastWords   string          `json:"last_words,omitempty" doc:"the end of its standard error"`
	InFlight    []errorInFlight `json:"in_flight,omitempty" doc:"samples that were in C code when it ended"`

	Errno    int         `json:"errno,omitempty" doc:"the operating system's number of the error"`
	Filename recipe.Path `json:"filename,omitempty" doc:"the file that it is about"`
	Cause    *errorCause `json:"cause,omitempty" doc:"the exception that caused it, in the same process"`
}

type errorInFlight struct {
	Key      recipe.Path `json:"key" doc:"its name; only the end of a long one"`
	Index    int64       `json:"index" doc:"its index in the source"`
	Epoch    int         `json:"epoch" doc:"the epoch"`
	Position int64       `json:"position" doc:"its position in the rank's epoch of its source"`
}

type errorCause struct {
	Type    string `json:"type" doc:"its class, with its module"`
	Message string `json:"message" doc:"its text"`
}
