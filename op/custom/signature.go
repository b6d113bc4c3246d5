package custom

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// signature has the fields of the types In and Out of an operation.
type signature struct {
	in, out      []member
	shows, gives *member // the image in each; nil: none
}

// member is a field of In or Out, and which field of samples it means.
type member struct {
	name   string
	typ    sample.Type  // but of an image
	own    reflect.Type // of the fields of In that mean none: Rand, Canvas, sample.ID
	image  bool
	take   bool
	offset uintptr
}

var (
	pixelsType = reflect.TypeFor[media.Pixels]()
	randType   = reflect.TypeFor[Rand]()
	canvasType = reflect.TypeFor[Canvas]()
	idType     = reflect.TypeFor[sample.ID]()
)

func signatureOf(in, out reflect.Type) (s signature, err error) {
	var wrongIn, wrongOut error
	s.in, wrongIn = membersOf("In", in)
	s.out, wrongOut = membersOf("Out", out)
	if err := errors.Join(wrongIn, wrongOut); err != nil {
		return s, err
	}
	if s.shows, err = imageOf("In", s.in); err != nil {
		return s, err
	}
	if s.gives, err = imageOf("Out", s.out); err != nil {
		return s, err
	}
	for _, m := range s.out {
		if m.own != nil || m.take {
			return s, fmt.Errorf("a field that only In can have is in Out: %v", m.described())
		}
	}
	return s, nil
}

func (m member) described() string {
	if m.own != nil {
		return publicName(m.own)
	}
	return strconv.Quote(m.name + ",take")
}

func membersOf(what string, t reflect.Type) ([]member, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%s is %v: must be a struct, each field with a tag like `field:\"image\"`", what, t)
	}
	var all []member
	var wrong []error
	for i := range t.NumField() {
		m, err := memberOf(t.Field(i))
		if err == nil && slices.ContainsFunc(all, func(o member) bool { return o.name == m.name && o.own == m.own }) {
			err = errors.New("has the name of another field")
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("field %s of %s %w", t.Field(i).Name, what, err))
		}
		all = append(all, m)
	}
	return all, errors.Join(wrong...)
}

func memberOf(f reflect.StructField) (member, error) {
	name, option, _ := strings.Cut(f.Tag.Get("field"), ",")
	m := member{name: name, take: option == "take", offset: f.Offset}
	switch {
	case !f.IsExported():
		return m, errors.New("is not exported")
	case f.Type == randType || f.Type == canvasType || f.Type == idType:
		if m.own = f.Type; f.Tag.Get("field") != "" {
			return m, fmt.Errorf("is a %s, which is not a field of samples: leave out the tag `field:…`", publicName(f.Type))
		}
		return m, nil
	case name == "":
		return m, errors.New("has no tag `field:\"…\"` with the name of a field of samples")
	case option != "" && !m.take:
		return m, fmt.Errorf("has the option %q in its tag: there is only \"take\"", option)
	case f.Type == pixelsType:
		m.image = true
		return m, nil
	}
	var err error
	m.typ, err = typeOf(f.Type)
	return m, err
}

// publicName returns the name that users know a type by.
func publicName(t reflect.Type) string { return strings.Replace(t.String(), "custom.", "headrace.", 1) }

// typeOf returns the type of samples' fields whose values are laid out in memory like
// those of a Go type.
func typeOf(t reflect.Type) (sample.Type, error) {
	if t.Kind() == reflect.String {
		return sample.TextType, nil
	}
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
		return sample.BytesType, nil
	}
	var shape tensor.Shape
	element := t
	for ; element.Kind() == reflect.Array; element = element.Elem() {
		shape = append(shape, element.Len())
	}
	if d, ok := dtypes[element.Kind()]; ok {
		return sample.TensorType(d, shape...), nil
	}
	return sample.Type{}, fmt.Errorf("is %v: must be bool, int8 to int64, uint8 to uint64, "+
		"float32, float64, arrays of these, string, []byte and media.Pixels", t)
}

var dtypes = map[reflect.Kind]tensor.DType{
	reflect.Bool: tensor.Bool, reflect.Float32: tensor.Float32, reflect.Float64: tensor.Float64,
	reflect.Int8: tensor.Int8, reflect.Int16: tensor.Int16, reflect.Int32: tensor.Int32, reflect.Int64: tensor.Int64,
	reflect.Uint8: tensor.Uint8, reflect.Uint16: tensor.Uint16, reflect.Uint32: tensor.Uint32, reflect.Uint64: tensor.Uint64,
}

func imageOf(what string, members []member) (image *member, err error) {
	for i := range members {
		if !members[i].image {
			continue
		}
		if image != nil {
			return nil, fmt.Errorf("%s has two images, %q and %q: at most one is allowed", what, image.name, members[i].name)
		}
		image = &members[i]
	}
	return image, nil
}

// check returns all that is wrong with an operation that is given samples of this schema,
// and what comes out.
func (s signature) check(in sample.Schema, op any) (sample.Schema, error) {
	wrong := []error{recipe.CheckTags(op)}
	if c, ok := op.(checker); ok {
		wrong = append(wrong, c.Check())
	}
	out := in
	for _, m := range s.in {
		if m.own != nil {
			continue
		}
		wrong = append(wrong, m.checkIn(in))
		if m.take {
			out = out.Without(m.name)
		}
	}
	form, err := anyForm, errors.Join(wrong...)
	if err == nil {
		form, err = s.result(in, op)
	}
	return s.with(out, form), err
}

func (s signature) with(out sample.Schema, form media.Form) sample.Schema {
	for _, m := range s.out {
		if m.image {
			out = out.With(m.name, recipe.ImageType(form))
		} else {
			out = out.With(m.name, m.typ)
		}
	}
	return out
}

func (m member) checkIn(in sample.Schema) error {
	i := in.Find(m.name)
	if i < 0 {
		var names []string
		for _, name := range in.Names() {
			names = append(names, strconv.Quote(name))
		}
		return fmt.Errorf("reads the field %q: the samples have %s", m.name, strings.Join(names, ", "))
	}
	switch t := in[i].Type; {
	case m.image && t.Axes == "":
		return fmt.Errorf("reads %q as an image: it is %v; decode_image makes images", m.name, t)
	case m.image && !runnable(recipe.ImageForm(t)):
		return fmt.Errorf("reads %q as an image: it is %v there; put it before normalize and layout", m.name, t)
	case !m.image && !m.typ.Equal(t):
		return fmt.Errorf("reads %q as %v: it is %v", m.name, m.typ, t)
	}
	return nil
}

// runnable tells whether an image is one of whole numbers, a pixel's side by side: as it
// was decoded, and as media.Pixels are.
func runnable(f media.Form) bool {
	return f.Layout == media.HWC && (f.DType == tensor.Uint8 || f.DType == tensor.Uint16)
}

// result is the form of the image that an operation gives. What the operation reads has
// been checked.
func (s signature) result(in sample.Schema, op any) (form media.Form, err error) {
	if s.gives == nil {
		return anyForm, nil
	}
	if s.shows != nil {
		form = recipe.ImageForm(in[in.Find(s.shows.name)].Type)
	}
	if r, ok := op.(resulter); ok {
		if form, err = r.Result(form); err != nil {
			return anyForm, fmt.Errorf("is not possible: %w", err)
		}
	}
	if form.DType == tensor.Invalid {
		form.DType = tensor.Uint8
	}
	if err := checkForm(form); err != nil {
		return anyForm, fmt.Errorf("gives the image %q, which its method Result %w", s.gives.name, err)
	}
	return form, nil
}

// anyForm is where there is a mistake.
var anyForm = media.Form{Height: media.Unknown, Width: media.Unknown, DType: tensor.Uint8}

func checkForm(f media.Form) error {
	known := func(n int) bool { return n > 0 || n == media.Unknown }
	if !runnable(f) || f.Color.Channels() == 0 || !known(f.Height) || !known(f.Width) {
		return fmt.Errorf("says is %v: must be uint8 or uint16, a height, a width, and 1, 3 or 4 channels", f)
	}
	return nil
}
