package image_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/recipetest"
	opimage "github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

// Every step on an image says so in its traits, and asks for one.
func TestStepsNeedAnImage(t *testing.T) {
	in := sample.Schema{{Name: "key", Type: sample.TextType}}
	for _, op := range opimage.Ops {
		args, ok := op.New().(recipe.Transform)
		if !ok {
			continue
		}
		if content := recipe.TraitsOf(args).Content; content != "image" {
			t.Errorf("%s works on %q", op.Name, content)
		}
		if _, err := args.Check(in); err == nil || !strings.Contains(err.Error(), "has no image to work on") {
			t.Errorf("%s of samples without an image: %v", op.Name, err)
		}
	}
}

// Every step says what it cannot be given, by the tags of its arguments.
func TestLimitsOfArguments(t *testing.T) {
	limits := 0
	for _, op := range opimage.Ops {
		for _, f := range argument.FieldsOf(op.New()) {
			for tag, by := range map[string]float64{"min": -1, "max": 1} {
				limit, err := strconv.ParseFloat(f.Tag.Get(tag), 64)
				if err != nil {
					continue
				}
				limits++
				value := strconv.FormatFloat(limit+by, 'f', -1, 64)
				step := fmt.Sprintf(`{%q:{%q:%s}}`, op.Name, argument.Name(f), value)
				if op.Name != "decode_image" {
					step = `"decode_image",` + step
				}
				must := "at least " + f.Tag.Get("min")
				if f.Tag.Get("max") != "" {
					must = "from " + f.Tag.Get("min") + " to " + f.Tag.Get("max")
				}
				want := fmt.Sprintf("%s is %s: must be %s", argument.Name(f), value, must)
				if r, err := image(step); err != nil {
					t.Errorf("%s: %v", step, err)
				} else if _, err := r.Check(); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v, and not that %s", step, err, want)
				}
			}
		}
	}
	if limits < 8 {
		t.Errorf("%d limits", limits)
	}
}

// What a step refuses to work on it names, and itself: masks, other depths, numbers.
func TestStepsNameWhatTheyRefuse(t *testing.T) {
	refused := map[string]int{}
	for _, op := range recipetest.Transforms() {
		step, err := json.Marshal(map[string]any{op.Name: required(op)})
		if err != nil {
			t.Fatal(err)
		}
		for before, of := range map[string]string{
			`{"decode_image":{"color":"mask"}}`:                   "mask",
			`{"decode_image":{"dtype":"uint16"}}`:                 "uint16",
			`"decode_image",{"normalize":{"mean":0.5,"std":0.5}}`: "float32",
		} {
			r, err := image(before + "," + string(step))
			if err == nil {
				_, err = r.Check()
			}
			if err == nil && (of != "float32" || op.Name == "layout") {
				continue
			}
			refused[of]++
			other := op.Name == "pad" || strings.Contains(string(step), "steps")
			pattern := regexp.MustCompile(op.Name + `.*: is not possible: .*: ` + op.Name + ` .*` + of)
			if !other && !pattern.MatchString(fmt.Sprint(err)) {
				t.Errorf("%s after %s: %v", step, before, err)
			}
		}
	}
	if refused["mask"] < 4 || refused["uint16"] < 1 || refused["float32"] < 12 {
		t.Errorf("refused are %v", refused)
	}
}

// A default that is written has the form of one that is not.
func TestDefaultsInOneForm(t *testing.T) {
	for _, op := range recipetest.Transforms() {
		for _, f := range argument.FieldsOf(op.New()) {
			text := f.Tag.Get("default")
			if text == "" {
				continue
			}
			if !json.Valid([]byte(text)) {
				text = strconv.Quote(text)
			}
			args := required(op)
			if op.Name == "pad" { // it needs one of two
				args["padding"] = json.RawMessage("4")
			}
			without, err := onImages(op, args)
			args[argument.Name(f)] = json.RawMessage(text)
			with, err2 := onImages(op, args)
			if err != nil || err2 != nil || with.Fingerprint() != without.Fingerprint() {
				t.Errorf("%s with %s=%s and without have two fingerprints: %v, %v", op.Name, argument.Name(f), text, err, err2)
			}
		}
	}
}

// required are examples of the arguments that an operation must be given.
func required(op recipe.Op) map[string]json.RawMessage {
	args := map[string]json.RawMessage{}
	for _, f := range argument.FieldsOf(op.New()) {
		if example := f.Tag.Get("example"); argument.Required(f) {
			if !json.Valid([]byte(example)) {
				example = strconv.Quote(example)
			}
			args[argument.Name(f)] = json.RawMessage(example)
		}
	}
	return args
}

func onImages(op recipe.Op, args map[string]json.RawMessage) (recipe.Recipe, error) {
	step, err := json.Marshal(map[string]any{op.Name: args})
	if err != nil {
		return recipe.Recipe{}, err
	}
	return recipetest.OnImages(string(step))
}
