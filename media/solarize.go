package media

import (
	"fmt"
	"math"
)

// Solarize inverts values that are at least Threshold, channel by channel: v becomes
// 255-v. An alpha channel stays as it is.
type Solarize struct {
	Threshold float64 `json:"threshold"` // from 0, which inverts all, to 255
}

// Check refuses parameters beyond their bounds.
func (o Solarize) Check() error { return checkThreshold("solarize", o.Threshold) }

// Result tells the form after the operation.
func (o Solarize) Result(in Form) (Form, error) { return in, in.checkByteColors("solarize") }

func (o Solarize) name() string { return "solarize" }

func (o Solarize) place(p *Plan, _ uint64, _ Rand) error {
	// Levels are whole: those that reach the threshold are those that reach the next one.
	p.pass(Pass{Effect: &solarize, Args: Args{float32(math.Ceil(o.Threshold))}})
	return nil
}

// RandomSolarize is Solarize with probability P.
type RandomSolarize struct {
	Threshold float64 `json:"threshold"`
	P         float64 `json:"p"`
}

// Check refuses parameters beyond their bounds.
func (o RandomSolarize) Check() error {
	if err := checkThreshold("random_solarize", o.Threshold); err != nil {
		return err
	}
	return checkChance("random_solarize", o.P)
}

// Result tells the form after the operation.
func (o RandomSolarize) Result(in Form) (Form, error) {
	return in, in.checkByteColors("random_solarize")
}

func (o RandomSolarize) name() string { return "random_solarize" }

// place uses draw 0.
func (o RandomSolarize) place(p *Plan, id uint64, r Rand) error {
	if !p.applies(id, r, o.P, "solarized") {
		return nil
	}
	return Solarize{o.Threshold}.place(p, id, r)
}

func checkThreshold(op string, threshold float64) error {
	if !(threshold >= 0 && threshold <= math.MaxUint8) {
		return fmt.Errorf("%w: %s with a threshold of %v: must be from 0 to 255", ErrGeometry, op, threshold)
	}
	return nil
}

// solarize has the threshold as its first number: a whole one.
var solarize = tableEffect("solarize",
	func(a *Args) error { return checkThreshold("solarize", float64(a[0])) },
	func(a *Args) (t Table) {
		for v := range t {
			t[v] = uint8(v)
			if float32(v) >= a[0] {
				t[v] = ^uint8(v)
			}
		}
		return t
	})
