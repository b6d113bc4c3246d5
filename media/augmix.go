package media

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/headrace/headrace/internal/scratch"
)

// AugMix mixes an image with several changed ones: each of them by a chain of changes of
// torchvision's list of 13, one after the other.
type AugMix struct {
	Severity int       `json:"severity"` // from 1 to 10
	Width    int       `json:"width"`    // chains
	Depth    int       `json:"depth"`    // changes of each; 0: one to three, evenly
	Alpha    float64   `json:"alpha"`
	AllOps   bool      `json:"all_ops"` // with the last four: brightness, colour, contrast, sharpness
	Filter   Filter    `json:"filter,omitzero"`
	Fill     [4]uint16 `json:"fill,omitzero"`
}

// mostMixed bounds the chains, and the changes of each.
const mostMixed = 16

// Check refuses parameters beyond their bounds.
func (o AugMix) Check() error {
	switch {
	case o.Severity < 1 || o.Severity > 10:
		return fmt.Errorf("%w: augmix of severity %d: must be from 1 to 10", ErrGeometry, o.Severity)
	case o.Width < 1 || o.Width > mostMixed || o.Depth < 0 || o.Depth > mostMixed:
		return fmt.Errorf("%w: augmix of %d chains of %d changes: must be at most %d", ErrGeometry, o.Width, o.Depth, mostMixed)
	case !(o.Alpha >= 0.001 && o.Alpha <= 1000):
		return fmt.Errorf("%w: augmix with an alpha of %v: must be from 0.001 to 1000", ErrGeometry, o.Alpha)
	}
	return o.Filter.checkWarp("augmix")
}

// Result tells the form after the operation.
func (o AugMix) Result(in Form) (Form, error) { return policed("augmix", in, o.Fill) }

func (o AugMix) name() string { return "augmix" }

// augMixChanges are in torchvision's order, those that are not among all_ops first.
var augMixChanges = [...]change{
	shearX, shearY, translateX, translateY, rotate, posterizes, solarizes, autoContrast, equalizes, brightness, colored, contrast,
	sharpness,
}

var augMixSpace = space{0.3, 0.9, 30, func(side int) float64 { return float64(side) / 3 }, [2]int{4, 0}}

// place uses draws 0 and 1, for a seed of which all else is drawn.
func (o AugMix) place(p *Plan, id uint64, r Rand) error {
	pass := Pass{Effect: &augMix, Args: o.args(drawNoise(id, r, 0))}
	if p.tells() {
		own, chains := pass.Args.mix(Size{p.Height, p.Width})
		told := make([]string, len(chains))
		for i, c := range chains {
			told[i] = fmt.Sprint(float64(c.weight) / mixUnit)
			for _, a := range c.changes {
				told[i] += ", " + a.change.told(a.by)
			}
		}
		p.tell(map[string]any{"share": float64(own) / mixUnit, "steps": told})
	}
	p.pass(pass)
	return nil
}

// args are the numbers of a pass: those of the operation, and the seed.
func (o AugMix) args(high, low float32) Args {
	all := float32(0)
	if o.AllOps {
		all = 1
	}
	fill := float32(int(o.Fill[0])<<16 | int(o.Fill[1])<<8 | int(o.Fill[2]))
	return Args{float32(o.Severity), float32(o.Width), float32(o.Depth), float32(o.Alpha), all, float32(o.Filter), fill,
		float32(o.Fill[3]), high, low}
}

// augMixOf returns the operation with such numbers.
func augMixOf(a *Args) AugMix {
	fill := uint32(a[6])
	return AugMix{Severity: int(a[0]), Width: int(a[1]), Depth: int(a[2]), Alpha: float64(a[3]), AllOps: a[4] != 0,
		Filter: Filter(a[5]), Fill: [4]uint16{uint16(fill >> 16), uint16(fill >> 8 & 255), uint16(fill & 255), uint16(a[7])}}
}

// mix draws for an image of a size: the share of the image, those of the chains, and of
// each chain how many changes it has, and of each change which, its magnitude and its
// sign.
func (a *Args) mix(is Size) (own int, chains []mixedChain) {
	o := augMixOf(a)
	draws := Sequence{Rand: newNoise(a[8], a[9])}
	share, shares := draws.Beta(o.Alpha), draws.dirichlet(o.Alpha, o.Width)
	list := augMixChanges[:]
	if !o.AllOps {
		list = augMixChanges[:9]
	}
	chains = make([]mixedChain, o.Width)
	for i := range chains {
		depth := o.Depth
		if depth == 0 {
			depth = 1 + below(draws.Next(), 3)
		}
		for range depth {
			c := list[below(draws.Next(), len(list))]
			magnitude, negative := below(draws.Next(), o.Severity), draws.Next() < 0.5
			by := augMixSpace.amount(c, magnitude, 9, c.signed() && negative, is)
			chains[i].changes = append(chains[i].changes, amount{c, by})
		}
	}
	return mixWeights(chains, share, shares), chains
}

// Float64 implements [Rand]: noise of which each draw is a word.
func (n noise) Float64(_ uint64, draw uint32) float64 {
	return float64(n.word(uint64(draw))>>11) / (1 << 53)
}

// amount is a change and its strength.
type amount struct {
	change change
	by     float64
}

// mixedChain is one of the images that are mixed: what changes it, and its weight.
type mixedChain struct {
	changes []amount
	weight  int
}

// mixUnit is all weights together. Whole numbers give the same pixels on every machine.
const mixUnit = 1 << 16

// mixWeights gives chains their weights, and returns that of the image itself.
func mixWeights(chains []mixedChain, share float64, shares []float64) (own int) {
	own = mixUnit
	for i := range chains {
		w := int(math.RoundToEven(float64((1 - share) * shares[i] * mixUnit)))
		chains[i].weight = min(w, own)
		own -= chains[i].weight
	}
	return own
}

// augMix has the arguments of the operation and a seed as its numbers.
var augMix = Effect{
	Name:  "augmix",
	Reach: func(*Args) int { return Everywhere },
	Fixed: true,
	Extra: func(*Args) int { return 4*3 + 5*4 }, // the sum; the image twice, and stages of a chain
	Check: checkBytes("augmix", func(a *Args) error {
		if !(a[8] >= 0 && a[8] < 1<<24 && a[9] >= 0 && a[9] < 1<<24) {
			return fmt.Errorf("%w: augmix with the seed %v, %v", ErrGeometry, a[8], a[9])
		}
		return augMixOf(a).Check()
	}),
	Apply: func(a *Args, p Pixels) Pixels {
		o := augMixOf(a)
		own, chains := a.mix(Size{p.Height, p.Width})
		mixChains(p, own, chains, policy{o.Filter, o.Fill})
		return p
	},
}

// mixScratch is memory of one image after the other.
type mixScratch struct {
	sum     []uint32
	changed []byte
	plan    Plan
}

var mixScratches = sync.Pool{New: func() any { return new(mixScratch) }}

func mixChains(p Pixels, own int, chains []mixedChain, how policy) {
	s := mixScratches.Get().(*mixScratch)
	row := len(p.Row(0))
	s.sum = slices.Grow(s.sum[:0], row*p.Height)[:row*p.Height]
	clear(s.sum)
	s.changed = grow(s.changed, row*p.Height+Slack)
	addWeighted(s.sum, p, own)
	for _, c := range chains {
		changed := s.chain(p, c.changes, how)
		addWeighted(s.sum, changed, c.weight)
	}
	for y := range p.Height {
		for i := range p.Row(y) {
			p.Row(y)[i] = uint8(s.sum[y*row+i] / mixUnit)
		}
	}
	if cap(s.changed) > scratch.Keep { // a giant among images holds no memory
		scratch.Free(s.changed)
		s.changed, s.sum = nil, nil
	}
	mixScratches.Put(s)
}

// chain returns an image as some changes make it.
func (s *mixScratch) chain(p Pixels, changes []amount, how policy) Pixels {
	s.plan.begin(Info{Width: p.Width, Height: p.Height}, Options{Color: p.Color, DType: p.DType})
	for _, a := range changes {
		if _, err := s.plan.change(a.change, a.by, how); err != nil {
			panic(err) // not reached: amounts are within bounds
		}
	}
	s.plan.narrow()
	s.plan.finish()
	changed := p
	changed.Data, changed.Stride = s.changed, len(p.Row(0))
	if err := CurrentRunner().Run(changed.Data, changed.Stride, p, &s.plan); err != nil {
		panic(err) // not reached: the plan is for these pixels
	}
	return changed
}

// addWeighted adds values times a weight to sums.
func addWeighted(sum []uint32, p Pixels, weight int) {
	row := len(p.Row(0))
	for y := range p.Height {
		to := sum[y*row:][:row]
		for i, v := range p.Row(y) {
			to[i] += uint32(v) * uint32(weight)
		}
	}
}
