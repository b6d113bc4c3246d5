package media

import "fmt"

// Pass is one change of the pixels of an image that leaves its size: of colours, for
// example. It is a value, and takes no memory of its own.
type Pass struct {
	Effect *Effect
	Args   Args
}

// Args are the numbers that a pass goes by. What each of them means, its Effect says.
type Args [10]float32

// Effect is what a kind of pass does. Its functions are called by several goroutines at
// once, with a pass of this effect.
type Effect struct {
	Name string

	// Reach is how far from a pixel are those that its new value depends on, in pixels: 0
	// for none but itself, Everywhere for all of the image. nil: 0.
	Reach func(a *Args) int
	// Fixed says that the effect depends on where a pixel is, or on directions, so that
	// nothing is moved before it that comes after it.
	Fixed bool
	// Extra is how many bytes it takes for each pixel besides the image. nil: none.
	Extra func(a *Args) int
	// Taps returns weights of pixels by their distance, for kernels that mix them, and
	// the greatest distance that has one. nil: the effect has none.
	Taps func(a *Args) (w Taps, reach int)

	// Check returns why a pass cannot change pixels of this form. nil: it can change all.
	Check func(a *Args, f Form) error
	// Table has the new values, if they depend on nothing but the old ones:
	// such passes in a row are one. nil: it depends on more.
	Table func(a *Args) Table
	// Levels makes the new values of a channel, if they depend on nothing but the old
	// ones and on how often it has each; false: the channel stays. nil: it depends on
	// more.
	Levels func(counts *[256]int, t *Table) bool
	// Color is that of the pixels afterwards. nil: it is the same.
	Color func(Color) Color
	// Apply changes pixels in place, which Check accepts, and returns them: of another
	// colour at the beginning of the same rows. It is the definition of what a pass
	// computes; every faster way gives the same bytes.
	Apply func(a *Args, p Pixels) Pixels
}

// Taps are whole numbers: that of the pixel itself, and those of its neighbours on both
// sides.
type Taps [64]int16

// Everywhere is the reach of an effect that looks at a whole image.
const Everywhere = MaxPixels

// Apply changes pixels in place, as Effect says, and returns them.
func (s *Pass) Apply(p Pixels) (Pixels, error) {
	if err := p.Check(); err != nil {
		return p, err
	}
	if err := s.check(p.Form()); err != nil {
		return p, err
	}
	return s.Effect.Apply(&s.Args, p), nil
}

// applyAll applies passes one after the other, and tables in a row at once.
func applyAll(passes []Pass, p Pixels) (_ Pixels, err error) {
	for len(passes) > 0 {
		n := CountTables(passes)
		for i := range n {
			if err := passes[i].check(p.Form()); err != nil {
				return p, err
			}
		}
		if n > 0 {
			t := JoinTables(passes[:n])
			lookUp(p, &t)
		} else if p, err = passes[0].Apply(p); err != nil {
			return p, err
		} else {
			n = 1
		}
		passes = passes[n:]
	}
	return p, nil
}

func (s *Pass) check(f Form) error {
	if s.Effect == nil {
		return fmt.Errorf("%w: a pass without an effect", ErrUnsupported)
	}
	if s.Effect.Check == nil {
		return nil
	}
	return s.Effect.Check(&s.Args, f)
}

func (s *Pass) reach() int {
	if s.Effect.Reach == nil {
		return 0
	}
	return s.Effect.Reach(&s.Args)
}

func (s *Pass) extra() int {
	if s.Effect.Extra == nil {
		return 0
	}
	return s.Effect.Extra(&s.Args)
}

// color is that of pixels after the pass.
func (s *Pass) color(before Color) Color {
	if s.Effect.Color == nil {
		return before
	}
	return s.Effect.Color(before)
}

// pass has the image changed as it is so far.
func (p *Plan) pass(change Pass) {
	p.Color = change.color(p.Color)
	s := p.last()
	s.Passes = append(s.Passes, change)
}

// checkPasses returns why the plan's passes and its output do not fit each other:
// MakePlan makes no such plan, but C trusts what it is given.
func (p *Plan) checkPasses() error {
	f := p.Options.Form()
	for i := range p.Stages {
		for k := range p.Stages[i].Passes {
			s := &p.Stages[i].Passes[k]
			if err := s.check(f); err != nil {
				return err
			}
			f.Color = s.color(f.Color)
		}
	}
	if f.Color != p.Color {
		return fmt.Errorf("%w: a plan for %v whose stages leave %v", ErrGeometry, p.Color, f.Color)
	}
	return p.Output.check(f.Color, f.DType)
}

// looksAround reports whether the new value of a pixel depends on others, or on where it
// is, which must be there, and not be cut off or moved before.
func (s *Stage) looksAround() bool {
	for i := range s.Passes {
		if s.Passes[i].Effect.Fixed || s.Passes[i].reach() > 0 {
			return true
		}
	}
	return false
}

// fixed reports whether the stage may not be turned before its passes instead of after
// them.
func (s *Stage) fixed() bool {
	for i := range s.Passes {
		if s.Passes[i].Effect.Fixed {
			return true
		}
	}
	return false
}
