package media

import (
	"fmt"
	"math"
)

// change is one of the changes that policies choose from.
type change uint8

// In the order of torchvision's lists, and then those that are timm's alone.
const (
	identical change = iota
	shearX
	shearY
	translateX
	translateY
	rotate
	brightness
	colored
	contrast
	sharpness
	posterizes
	solarizes
	autoContrast
	equalizes
	inverts
	solarizeAdds
	desaturates
	blurs
)

var changeNames = [...]string{
	"identity", "shear_x", "shear_y", "translate_x", "translate_y", "rotate", "brightness", "color", "contrast", "sharpness",
	"posterize", "solarize", "autocontrast", "equalize", "invert", "solarize_add", "desaturate", "blur",
}

// signed reports whether a change goes both ways, as likely.
func (c change) signed() bool { return c >= shearX && c <= sharpness }

// policy holds the settings of all changes of an operation.
type policy struct {
	filter Filter
	fill   [4]uint16
}

// change changes an image by an amount: a factor, an angle in degrees, a number of
// pixels, of bits, or a level. It is as torchvision and timm have it: a shear is about
// the corner, and shifts by the amount times the distance.
func (p *Plan) change(c change, by float64, how policy) (told string, err error) {
	is := Size{p.Height, p.Width}
	switch c {
	case shearX:
		p.warp(Warp{Map: Map{1, by, 0, 0, 1, 0, 0, 0, 1}, Filter: how.filter}, is, how.fill)
	case shearY:
		p.warp(Warp{Map: Map{1, 0, 0, by, 1, 0, 0, 0, 1}, Filter: how.filter}, is, how.fill)
	case translateX:
		p.warp(Warp{Map: Map{1, 0, -by, 0, 1, 0, 0, 0, 1}, Filter: how.filter}, is, how.fill)
	case translateY:
		p.warp(Warp{Map: Map{1, 0, 0, 0, 1, -by, 0, 0, 1}, Filter: how.filter}, is, how.fill)
	case rotate:
		err = Rotate{Angle: by, Filter: how.filter, Fill: how.fill}.place(p, 0, nil)
	case brightness:
		p.adjust(Adjust{Brightness, float32(by)})
	case colored:
		p.adjust(Adjust{Saturation, float32(by)})
	case contrast:
		p.adjust(Adjust{Contrast, float32(by)})
	case sharpness:
		err = AdjustSharpness{by}.place(p, 0, nil)
	case posterizes:
		err = Posterize{int(by)}.place(p, 0, nil)
	case solarizes:
		if by <= 255 {
			err = Solarize{max(by, 0)}.place(p, 0, nil)
		}
	case autoContrast:
		err = Autocontrast{}.place(p, 0, nil)
	case equalizes:
		err = Equalize{}.place(p, 0, nil)
	case inverts:
		err = Invert{}.place(p, 0, nil)
	case solarizeAdds:
		p.pass(Pass{Effect: &solarizeAdd, Args: Args{float32(by)}})
	case desaturates:
		p.adjust(Adjust{Saturation, float32(by)})
	case blurs:
		p.pass(Pass{Effect: &gaussianBlur, Args: Args{float32(2*math.Ceil(3*by) + 1), float32(by)}})
	}

	if !p.tells() {
		return "", err
	}
	return c.told(by), err
}

// told describes a change for people.
func (c change) told(by float64) string {
	if c >= shearX && c <= solarizes || c >= solarizeAdds {
		return fmt.Sprintf("%s %v", changeNames[c], by)
	}
	return changeNames[c]
}

// solarizeAdd has an amount as its number, which is added to what is below 128.
var solarizeAdd = tableEffect("solarize_add",
	func(a *Args) error {
		if !(a[0] >= 0 && a[0] <= math.MaxUint8) {
			return fmt.Errorf("%w: solarize_add of %v", ErrGeometry, a[0])
		}
		return nil
	},
	func(a *Args) (t Table) {
		t = identity
		for v := range t[:128] {
			t[v] = uint8(min(v+int(a[0]), 255))
		}
		return t
	})

// space says how strong changes are.
type space struct {
	shear, factor, angle float64 // at the greatest magnitude
	shift                func(side int) float64
	bits                 [2]int // at the least and at the greatest magnitude
}

// side is the share of torchvision's policies: of ImageNet's images of 331 pixels, 150.
func usualShift(side int) float64 { return float64(150.0 / 331.0 * float64(side)) }

var (
	usualSpace = space{0.3, 0.9, 30, usualShift, [2]int{8, 4}}
	wideSpace  = space{0.99, 0.99, 135, func(int) float64 { return 32 }, [2]int{8, 2}}
)

// amount returns the strength of a change at a magnitude from 0 to most, with a sign for
// those that go both ways, as torchvision's lists have it, which are of single precision.
func (s *space) amount(c change, magnitude, most int, negative bool, is Size) float64 {
	of := func(greatest float64) float64 {
		v := spaced(0, float32(greatest), magnitude, most)
		if negative {
			return -v
		}
		return v
	}

	switch c {
	case shearX, shearY:
		return of(s.shear)
	case translateX:
		return math.Trunc(of(s.shift(is.Width)))
	case translateY:
		return math.Trunc(of(s.shift(is.Height)))
	case rotate:
		return of(s.angle)
	case brightness, colored, contrast, sharpness:
		return 1 + of(s.factor)
	case posterizes:
		return float64(s.bits[0]) - math.RoundToEven(float64(float32(magnitude)/(float32(most)/float32(s.bits[0]-s.bits[1]))))
	case solarizes:
		return 255 * spaced(1, 0, magnitude, most)
	}
	return 0
}

// spaced is the i-th of evenly spaced numbers, as torch.linspace has them: reckoned from
// the nearer end, with a step and a result of single precision.
func spaced(first, last float32, i, most int) float64 {
	step := (last - first) / float32(most)
	if i < (most+1)/2 {
		return float64(float32(float64(first) + float64(float64(step)*float64(i))))
	}
	return float64(float32(float64(last) - float64(float64(step)*float64(most-i))))
}

func checkPolicy(name string, bins int, f Filter) error {
	if bins < 2 || bins > 1<<16 {
		return fmt.Errorf("%w: %s with %d bins: must be at least 2", ErrGeometry, name, bins)
	}
	return f.checkWarp(name)
}

// RandAugment carries out so many changes of torchvision's list of 14, one after the
// other, all of one magnitude; some go either way.
type RandAugment struct {
	Ops       int       `json:"ops"`
	Magnitude int       `json:"magnitude"` // below Bins
	Bins      int       `json:"bins"`
	Filter    Filter    `json:"filter,omitzero"`
	Fill      [4]uint16 `json:"fill,omitzero"`
}

// Check refuses parameters beyond their bounds.
func (o RandAugment) Check() error {
	if o.Ops < 0 || o.Ops > 16 {
		return fmt.Errorf("%w: rand_augment with %d changes: must be from 0 to 16", ErrGeometry, o.Ops)
	}
	if o.Magnitude < 0 || o.Magnitude >= o.Bins {
		return fmt.Errorf("%w: rand_augment of magnitude %d: must be from 0 to %d", ErrGeometry, o.Magnitude, o.Bins-1)
	}
	return checkPolicy("rand_augment", o.Bins, o.Filter)
}

// Result tells the form after the operation.
func (o RandAugment) Result(in Form) (Form, error) { return policed("rand_augment", in, o.Fill) }

func policed(name string, in Form, fill [4]uint16) (Form, error) {
	if err := in.checkByteColors(name); err != nil {
		return in, err
	}
	return in, checkFill(name, in, fill)
}

func (o RandAugment) name() string { return "rand_augment" }

// place uses two draws for each change: which, and its sign.
func (o RandAugment) place(p *Plan, id uint64, r Rand) error {
	told := []string{}
	for i := range uint32(o.Ops) {
		c := change(below(r.Float64(id, 2*i), int(equalizes)+1))
		by := usualSpace.amount(c, o.Magnitude, o.Bins-1, c.signed() && r.Float64(id, 2*i+1) < 0.5, Size{p.Height, p.Width})
		did, err := p.change(c, by, policy{o.Filter, o.Fill})
		if err != nil {
			return err
		}
		told = append(told, did)
	}
	if p.tells() {
		p.tell(map[string]any{"steps": told})
	}
	return nil
}

// TrivialAugment carries out one change of torchvision's list of 14, of any magnitude.
type TrivialAugment struct {
	Bins   int       `json:"bins"`
	Filter Filter    `json:"filter,omitzero"`
	Fill   [4]uint16 `json:"fill,omitzero"`
}

// Check refuses parameters beyond their bounds.
func (o TrivialAugment) Check() error { return checkPolicy("trivial_augment", o.Bins, o.Filter) }

// Result tells the form after the operation.
func (o TrivialAugment) Result(in Form) (Form, error) {
	return policed("trivial_augment", in, o.Fill)
}

func (o TrivialAugment) name() string { return "trivial_augment" }

// place uses draws 0 to 2: which change, its magnitude, its sign.
func (o TrivialAugment) place(p *Plan, id uint64, r Rand) error {
	c := change(below(r.Float64(id, 0), int(equalizes)+1))
	magnitude, negative := below(r.Float64(id, 1), o.Bins), c.signed() && r.Float64(id, 2) < 0.5
	did, err := p.change(c, wideSpace.amount(c, magnitude, o.Bins-1, negative, Size{p.Height, p.Width}), policy{o.Filter, o.Fill})
	if p.tells() {
		p.tell(map[string]any{"steps": []string{did}})
	}
	return err
}

// AutoAugment carries out one of 25 pairs of changes, that were found for a set of
// images: "imagenet", "cifar10" or "svhn". Each has a probability and a magnitude.
type AutoAugment struct {
	Policy string    `json:"policy"`
	Filter Filter    `json:"filter,omitzero"`
	Fill   [4]uint16 `json:"fill,omitzero"`
}

// Check refuses parameters beyond their bounds.
func (o AutoAugment) Check() error {
	if _, is := autoPolicies[o.Policy]; !is {
		return fmt.Errorf("%w: auto_augment with the policy %q", ErrUnsupported, o.Policy)
	}
	return o.Filter.checkWarp("auto_augment")
}

// Result tells the form after the operation.
func (o AutoAugment) Result(in Form) (Form, error) { return policed("auto_augment", in, o.Fill) }

func (o AutoAugment) name() string { return "auto_augment" }

// place uses draw 0 for the pair, and two for each of its changes: whether, and the sign.
func (o AutoAugment) place(p *Plan, id uint64, r Rand) error {
	told := []string{}
	for i, part := range autoPolicies[o.Policy][below(r.Float64(id, 0), 25)] {
		if r.Float64(id, uint32(1+2*i)) >= part.p {
			continue
		}
		negative := part.change.signed() && r.Float64(id, uint32(2+2*i)) < 0.5
		by := usualSpace.amount(part.change, max(part.magnitude, 0), 9, negative, Size{p.Height, p.Width})
		did, err := p.change(part.change, by, policy{o.Filter, o.Fill})
		if err != nil {
			return err
		}
		told = append(told, did)
	}
	if p.tells() {
		p.tell(map[string]any{"steps": told})
	}
	return nil
}
