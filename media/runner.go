package media

import "sync/atomic"

// Runner carries out a plan on an image that is in memory. All give the same bytes.
type Runner interface {
	// Name tells which implementation this is.
	Name() string
	// Run writes the result of plan into dst, whose rows are stride bytes apart;
	// planes, in CHW, follow each other, each plan.Height rows long. src is the image
	// as stored, in the form that the plan's options ask for. Run keeps neither.
	Run(dst []byte, stride int, src Pixels, plan *Plan) error
}

// SetRunner puts a faster runner instead of Go's. Packages do so when they are
// imported.
func SetRunner(r Runner) { runner.Store(&r) }

// CurrentRunner returns the runner in use.
func CurrentRunner() Runner {
	if r := runner.Load(); r != nil {
		return *r
	}
	return GoRunner{}
}

var runner atomic.Pointer[Runner]
