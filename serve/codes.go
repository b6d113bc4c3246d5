package serve

import (
	"errors"
	"syscall"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/wire"
)

// codedError is an error with the code of its cause.
type codedError struct {
	code wire.Code
	error
}

func (e codedError) Unwrap() error { return e.error }

func coded(code wire.Code, err error) error { return codedError{code, err} }

func code(err error) wire.Code {
	var known codedError
	var held *arena.HeldError
	var bad *sample.Error
	var mistake *recipe.Error
	var start *extern.StartError
	var short *machine.Shortage
	var setting *headrace.Mistake

	switch {
	case errors.As(err, &known):
		return known.code
	case errors.As(err, &short) && errors.Is(err, syscall.ENOMEM):
		return wire.CodeMemory
	case errors.As(err, &short):
		return wire.CodeSource
	case errors.As(err, &start), errors.As(err, &mistake), errors.As(err, &setting):
		return wire.CodeRecipe
	case errors.Is(err, wire.ErrProtocol):
		return wire.CodeProtocol
	case errors.As(err, &held):
		return wire.CodeHeld
	case errors.Is(err, headrace.ErrSource):
		return wire.CodeSource
	case errors.Is(err, headrace.ErrSampler), errors.Is(err, headrace.ErrState), errors.Is(err, headrace.ErrConfig), errors.Is(err, budget.ErrTooSmall):
		return wire.CodeRecipe
	case errors.Is(err, arena.ErrMemory):
		return wire.CodeMemory
	case errors.Is(err, headrace.ErrTooManyLost):
		return wire.CodeBudget
	case errors.Is(err, headrace.ErrShort):
		return wire.CodeShort
	case errors.As(err, &bad):
		return wire.CodeSample
	default:
		return wire.CodeInternal
	}
}
