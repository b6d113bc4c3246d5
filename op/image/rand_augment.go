package image

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[RandAugment]("rand_augment", recipe.Between,
	"Carry out some of 14 changes of an image, all of one strength, as torchvision's 'RandAugment'; or as timm's, by its text.").
	Explained("", ".rand_augment()", `.rand_augment(config="rand-m9-mstd0.5-inc1", filter="bicubic")  # as timm`).
	Called("num_ops, magnitude, bins, filter, fill, config").
	Replacing("RandAugment(num_ops, magnitude)").
	Telling("steps"))

// RandAugment are the arguments of the operation rand_augment.
type RandAugment struct {
	NumOps    *int   `json:"num_ops,omitempty" min:"0" max:"16" doc:"how many changes, one after the other; by default 2"`
	Magnitude *int   `json:"magnitude,omitempty" min:"0" doc:"their strength, below bins; by default 9"`
	Bins      *int   `json:"bins,omitempty" min:"2" max:"1000" doc:"how many strengths there are; by default 31"`
	Filter    string `json:"filter,omitempty" choices:"nearest,bilinear,bicubic" default:"nearest" doc:"of rotations, shears and shifts"`
	Fill      Fill   `json:"fill,omitempty" default:"0" doc:"the colour beyond the image: one number, or one per channel"`
	Config    string `json:"config,omitempty"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*RandAugment) Docs() map[string]string {
	return map[string]string{
		"config": "timm's text, such as 'rand-m9-mstd0.5-inc1', instead of num_ops, magnitude and bins: sections m (magnitude of 10), n " +
			"(changes), p (the probability of each, by default 0.5), mstd (deviation of magnitudes; above 100: evenly), mmax, inc, and t " +
			"(timm's other lists: tweights, t3a, t3aw)",
	}
}

// Complete implements [recipe.Completer].
func (s RandAugment) Complete() recipe.Args {
	if s.Config == "" {
		for _, of := range []struct {
			at    **int
			usual int
		}{{&s.NumOps, 2}, {&s.Magnitude, 9}, {&s.Bins, 31}} {
			if *of.at == nil {
				*of.at = new(of.usual)
			}
		}
	}
	return &s
}

// Transform implements [recipe.Transform].
func (s *RandAugment) Transform() media.Op {
	if s.Config != "" {
		op, _ := parseTimm(s.Config)
		op.Filter, op.Fill = filter(s.Filter), s.Fill.color()
		return op
	}
	return media.RandAugment{Ops: *s.NumOps, Magnitude: *s.Magnitude, Bins: *s.Bins, Filter: filter(s.Filter), Fill: s.Fill.color()}
}

// Check implements [recipe.Args].
func (s *RandAugment) Check(in sample.Schema) (sample.Schema, error) {
	var config error
	if s.Config != "" {
		if _, wrong := parseTimm(s.Config); wrong != "" {
			config = recipe.Wrong("config", "is %q: %s", s.Config, wrong)
		} else if s.NumOps != nil || s.Magnitude != nil || s.Bins != nil {
			config = recipe.Wrong("config", "says all of num_ops, magnitude and bins: leave these out")
		}
	}
	return recipe.CheckTransform(in, s, config, s.Fill.check(in, s.Images(in)))
}

// parseTimm reads timm's text, or names the fault in it. timm itself ignores words
// that it does not know.
func parseTimm(text string) (op media.TimmAugment, wrong string) {
	op = media.TimmAugment{Layers: 2, P: 0.5, Magnitude: 10, Most: 10}
	sections := strings.Split(text, "-")
	if sections[0] != "rand" {
		return op, `must begin with "rand", such as "rand-m9-mstd0.5-inc1"`
	}
	for _, section := range sections[1:] {
		if set, is := strings.CutPrefix(section, "t"); is {
			if op.Set = set; !slices.Contains([]string{"weights", "3a", "3aw"}, set) {
				return op, strconv.Quote(section) + " must be tweights, t3a or t3aw"
			}
			continue
		}
		name := strings.TrimRight(section, "0123456789.")
		n, err := strconv.ParseFloat(section[len(name):], 64)
		if name == "mstdinf" {
			name, n, err = "mstd", math.Inf(1), nil
		}

		whole := n == math.Trunc(n)
		switch {
		case err != nil:
			return op, strconv.Quote(section) + " has no number"
		case name == "m" && whole:
			op.Magnitude = n
		case name == "n" && whole && n <= 8:
			op.Layers = int(n)
		case name == "p" && n <= 1:
			op.P = n
		case name == "mstd":
			op.Deviation = n
		case name == "mmax" && n <= 10:
			op.Most = n
		case name == "inc" && (n == 0 || n == 1):
			op.Increasing = n == 1
		default:
			return op, strconv.Quote(section) +
				" must be m or n and a whole number, p and a share, mstd or mmax (up to 10) and a number, inc0 or inc1"
		}
	}
	return op, ""
}
