package media

// Autocontrast stretches the values of each channel but alpha over all levels: the least
// becomes 0 and the greatest 255.
type Autocontrast struct{}

// Check refuses parameters beyond their bounds.
func (o Autocontrast) Check() error { return nil }

// Result tells the form after the operation.
func (o Autocontrast) Result(in Form) (Form, error) { return in, in.checkByteColors("autocontrast") }

func (o Autocontrast) name() string { return "autocontrast" }

func (o Autocontrast) place(p *Plan, _ uint64, _ Rand) error {
	p.pass(Pass{Effect: &autocontrast})
	return nil
}

// RandomAutocontrast is Autocontrast with probability P.
type RandomAutocontrast struct {
	P float64 `json:"p"`
}

// Check refuses parameters beyond their bounds.
func (o RandomAutocontrast) Check() error {
	return checkChance("random_autocontrast", o.P)
}

// Result tells the form after the operation.
func (o RandomAutocontrast) Result(in Form) (Form, error) {
	return in, in.checkByteColors("random_autocontrast")
}

func (o RandomAutocontrast) name() string { return "random_autocontrast" }

// place uses draw 0.
func (o RandomAutocontrast) place(p *Plan, id uint64, r Rand) error {
	if !p.applies(id, r, o.P, "stretched") {
		return nil
	}
	return Autocontrast{}.place(p, id, r)
}

// autocontrast follows Pillow's ImageOps.autocontrast.
var autocontrast = Effect{
	Name:   "autocontrast",
	Reach:  func(*Args) int { return Everywhere },
	Check:  checkBytes("autocontrast", nil),
	Levels: stretchTable,
	Apply: func(_ *Args, p Pixels) Pixels {
		spread(p, stretchTable)
		return p
	},
}

func stretchTable(counts *[256]int, t *Table) bool {
	least, greatest := 0, 255
	for least < 255 && counts[least] == 0 {
		least++
	}
	for greatest > 0 && counts[greatest] == 0 {
		greatest--
	}
	if greatest <= least {
		return false
	}
	scale := 255 / float64(greatest-least)
	offset := float64(-least) * scale
	for v := range t {
		// The conversion keeps the compiler from fusing operations, as in ColorJitter.
		t[v] = uint8(min(max(float64(float64(v)*scale)+offset, 0), 255))
	}
	return true
}
