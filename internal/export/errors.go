package export

import "errors"

// Errors that say what is in the way.
var (
	ErrOptions = errors.New("export: options do not fit")                 // what was asked for cannot be written
	ErrOther   = errors.New("export: something else is there")            // files that this run may not go on with, or overwrite
	ErrFiles   = errors.New("export: the files are not what was written") // somebody changed them meanwhile
	ErrBusy    = errors.New("export: in use")                             // by another process
)
