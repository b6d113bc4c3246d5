package recipe

import (
	"errors"
	"slices"

	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/sample"
)

// On are the arguments that say which images an operation works on: the only one that
// there is, where nothing is said.
type On struct {
	Field  string   `json:"field,omitempty" example:"image" doc:"the image or mask, if samples have several"`
	Fields []string `json:"fields,omitzero"`
}

// Docs implements [argument.Documented].
func (*On) Docs() map[string]string {
	return map[string]string{
		"fields": "several of one size, such as an image and its mask, changed alike: random draws are shared",
	}
}

// Images implements [Transform]: the fields that it works on, of those that the samples
// have.
func (o On) Images(in sample.Schema) []string {
	named := o.named()
	if named == nil {
		named = slices.DeleteFunc(in.Names(), func(name string) bool { return !IsImage(in[in.Find(name)].Type) })
	}
	return slices.DeleteFunc(slices.Clone(named), func(name string) bool {
		i := in.Find(name)
		return i < 0 || !IsImage(in[i].Type)
	})
}

func (o On) named() []string {
	if o.Field != "" {
		return []string{o.Field}
	}
	return o.Fields
}

// CheckImages says what is wrong with the names.
func (o On) CheckImages(in sample.Schema) error {
	if o.named() == nil {
		if images := o.Images(in); len(images) != 1 {
			return noImage(in, images)
		}
		return nil
	}
	if o.Field != "" && o.Fields != nil {
		return errors.New("has both field and fields: give one of them")
	}
	if len(o.named()) == 0 {
		return Wrong("fields", "is empty: give the names of images")
	}

	var errs []error
	for i, name := range o.named() {
		argument := "field"
		if o.Fields != nil {
			argument = "fields"
		}
		switch at := in.Find(name); {
		case slices.Contains(o.named()[:i], name):
			errs = append(errs, Wrong(argument, "has %q twice", name))
		case at < 0:
			errs = append(errs, Wrong(argument, "has %q: the samples have the fields %s", name, words.List(in.Names())))
		case !IsImage(in[at].Type):
			errs = append(errs, Wrong(argument, "has %q, which is %v: must be an image; put decode_image before it", name, in[at].Type))
		}
	}
	return errors.Join(errs...)
}
