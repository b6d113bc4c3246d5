package media

// Equalize spreads the values of each channel but alpha, so that all are about as
// frequent.
type Equalize struct{}

// Check refuses parameters beyond their bounds.
func (o Equalize) Check() error { return nil }

// Result tells the form after the operation.
func (o Equalize) Result(in Form) (Form, error) { return in, in.checkByteColors("equalize") }

func (o Equalize) name() string { return "equalize" }

func (o Equalize) place(p *Plan, _ uint64, _ Rand) error {
	p.pass(Pass{Effect: &equalize})
	return nil
}

// RandomEqualize is Equalize with probability P.
type RandomEqualize struct {
	P float64 `json:"p"`
}

// Check refuses parameters beyond their bounds.
func (o RandomEqualize) Check() error {
	return checkChance("random_equalize", o.P)
}

// Result tells the form after the operation.
func (o RandomEqualize) Result(in Form) (Form, error) {
	return in, in.checkByteColors("random_equalize")
}

func (o RandomEqualize) name() string { return "random_equalize" }

// place uses draw 0.
func (o RandomEqualize) place(p *Plan, id uint64, r Rand) error {
	if !p.applies(id, r, o.P, "equalized") {
		return nil
	}
	return Equalize{}.place(p, id, r)
}

// equalize follows Pillow's ImageOps.equalize.
var equalize = Effect{
	Name:   "equalize",
	Reach:  func(*Args) int { return Everywhere },
	Check:  checkBytes("equalize", nil),
	Levels: equalTable,
	Apply: func(_ *Args, p Pixels) Pixels {
		spread(p, equalTable)
		return p
	},
}

func equalTable(counts *[256]int, t *Table) bool {
	all, last := 0, 0
	for _, n := range counts {
		if all += n; n > 0 {
			last = n
		}
	}
	step := (all - last) / 255
	if step == 0 { // one level, or hardly any pixels of others
		return false
	}
	before := step / 2
	for v, n := range counts {
		t[v] = uint8(min(before/step, 255))
		before += n
	}
	return true
}
