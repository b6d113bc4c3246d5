package media

import (
	"fmt"
	"maps"
	"slices"
)

// inside places an operation that another one holds, the i-th of it. Its draws are its
// own; its story is returned as text, for the operation around it to tell.
func (p *Plan) inside(op Op, i int, id uint64, r Rand) (told string, err error) {
	before := len(p.draws)
	if err := p.place(&Step{Op: op, ID: noise(id).word(uint64(i))}, r); err != nil {
		return "", fmt.Errorf("%s: %w", op.name(), err)
	}
	if !p.tells() {
		return "", nil
	}
	told = op.name()
	for _, d := range p.draws[before:] {
		for _, name := range slices.Sorted(maps.Keys(d.Values)) {
			told += fmt.Sprintf(" %s=%v", name, d.Values[name])
		}
	}
	p.draws = p.draws[:before]
	return told, nil
}

// insideAll places operations one after the other, those of the list that order names.
func (p *Plan) insideAll(ops []Op, order []int, id uint64, r Rand) (told []string, err error) {
	told = []string{}
	for _, i := range order {
		one, err := p.inside(ops[i], i, id, r)
		if err != nil {
			return nil, err
		}
		told = append(told, one)
	}
	return told, nil
}

// checkAll checks operations that another one holds.
func checkAll(ops []Op) error {
	for _, op := range ops {
		if op == nil {
			return fmt.Errorf("%w: a step without an operation", ErrUnsupported)
		}
		if err := op.Check(); err != nil {
			return err
		}
	}
	return nil
}

// either is the form of images that have one form or the other.
func (f Form) either(op string, other Form) (Form, error) {
	if f.Height != other.Height {
		f.Height, other.Height = Unknown, Unknown
	}
	if f.Width != other.Width {
		f.Width, other.Width = Unknown, Unknown
	}
	if f != other {
		return f, fmt.Errorf("%w: %s would give %v or %v", ErrUnsupported, op, f, other)
	}
	return f, nil
}

// inOrder is the form after all operations.
func inOrder(ops []Op, f Form) (Form, error) {
	var err error
	for _, op := range ops {
		if f, err = op.Result(f); err != nil {
			return f, err
		}
	}
	return f, nil
}

// upTo are the numbers from 0 to n-1.
func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// RandomApply carries out all of its operations with probability P, or none.
type RandomApply struct {
	Ops []Op
	P   float64
}

// Check refuses parameters beyond their bounds.
func (o RandomApply) Check() error {
	if err := checkAll(o.Ops); err != nil {
		return err
	}
	return checkChance("random_apply", o.P)
}

// Result tells the form after the operation.
func (o RandomApply) Result(in Form) (Form, error) {
	out, err := inOrder(o.Ops, in)
	if err != nil || o.P == 1 {
		return out, err
	}
	return in.either("random_apply", out)
}

func (o RandomApply) name() string { return "random_apply" }

// place uses draw 0, and its operations draw for themselves.
func (o RandomApply) place(p *Plan, id uint64, r Rand) (err error) {
	applied, told := r.Float64(id, 0) < o.P, []string{}
	if applied {
		told, err = p.insideAll(o.Ops, upTo(len(o.Ops)), id, r)
	}
	if p.tells() {
		p.tell(map[string]any{"applied": applied, "steps": told})
	}
	return err
}

// RandomChoice carries out one of its operations. With P, each is as likely as its number
// there, of their sum; without, all are.
type RandomChoice struct {
	Ops []Op
	P   []float64
}

// Check refuses parameters beyond their bounds.
func (o RandomChoice) Check() error {
	if err := checkAll(o.Ops); err != nil {
		return err
	}
	if len(o.Ops) == 0 {
		return fmt.Errorf("%w: random_choice of nothing", ErrGeometry)
	}
	if o.P == nil {
		return nil
	}
	sum := 0.0
	for _, p := range o.P {
		if !(p >= 0) {
			return fmt.Errorf("%w: random_choice with a probability of %v", ErrGeometry, p)
		}
		sum += p
	}
	if len(o.P) != len(o.Ops) || !(sum > 0 && sum <= 1e300) {
		return fmt.Errorf("%w: random_choice of %d steps with the probabilities %v", ErrGeometry, len(o.Ops), o.P)
	}
	return nil
}

// Result tells the form after the operation.
func (o RandomChoice) Result(in Form) (out Form, err error) {
	out = in
	for i, op := range o.Ops {
		one, err := op.Result(in)
		if err == nil && i > 0 {
			one, err = out.either("random_choice", one)
		}
		if err != nil {
			return in, err
		}
		out = one
	}
	return out, nil
}

func (o RandomChoice) name() string { return "random_choice" }

// place uses draw 0.
func (o RandomChoice) place(p *Plan, id uint64, r Rand) error {
	told, err := p.insideAll(o.Ops, []int{o.draw(r.Float64(id, 0))}, id, r)
	if p.tells() {
		p.tell(map[string]any{"steps": told})
	}
	return err
}

func (o RandomChoice) draw(u float64) int {
	if o.P == nil {
		return below(u, len(o.Ops))
	}
	return weighted(o.P, u)
}

// weighted draws a place in a list by a number in [0,1): each as likely as its weight.
func weighted(weights []float64, u float64) int {
	sum, last := 0.0, 0
	for i, w := range weights {
		if sum += w; w > 0 {
			last = i
		}
	}
	u *= sum
	for i, w := range weights {
		if u -= w; u < 0 {
			return i
		}
	}
	return last
}

// RandomOrder carries out all of its operations, in any order, evenly.
type RandomOrder struct{ Ops []Op }

// mostOrdered bounds the operations of RandomOrder.
const mostOrdered = 24

// Check refuses parameters beyond their bounds.
func (o RandomOrder) Check() error {
	if len(o.Ops) > mostOrdered {
		return fmt.Errorf("%w: random_order of %d steps: must be at most %d", ErrGeometry, len(o.Ops), mostOrdered)
	}
	return checkAll(o.Ops)
}

// Result tells the form after the operation, which must not depend on the order but for
// the size.
func (o RandomOrder) Result(in Form) (Form, error) {
	out, err := inOrder(o.Ops, in)
	if err != nil || len(o.Ops) < 2 {
		return out, err
	}
	back := slices.Clone(o.Ops)
	slices.Reverse(back)
	other, err := inOrder(back, in)
	if err != nil {
		return in, err
	}
	if out, err = out.either("random_order", other); err == nil && (out.Height != in.Height || out.Width != in.Width) {
		out.Height, out.Width = Unknown, Unknown // another order may give another size
	}
	return out, err
}

func (o RandomOrder) name() string { return "random_order" }

// place uses a draw for each operation but the last.
func (o RandomOrder) place(p *Plan, id uint64, r Rand) error {
	order := upTo(len(o.Ops))
	for i := range max(len(order)-1, 0) {
		j := i + below(r.Float64(id, uint32(i)), len(order)-i)
		order[i], order[j] = order[j], order[i]
	}
	told, err := p.insideAll(o.Ops, order, id, r)
	if p.tells() {
		p.tell(map[string]any{"steps": told})
	}
	return err
}
