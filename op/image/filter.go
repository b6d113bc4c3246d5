package image

import (
	"cmp"

	"github.com/headrace/headrace/media"
)

// torchvisionsNames are refused with what they are called here.
var torchvisionsNames = map[string]string{"interpolation": "it is called filter", "antialias": "every resize is antialiased"}

// usualFilter is that of every resize that names none.
const usualFilter = "bilinear"

// filter returns the filter of a name that was checked.
func filter(name string) media.Filter {
	f, _ := media.ParseFilter(name)
	return f
}

// usualAnchor is that of every operation that names none.
const usualAnchor = "center"

// anchor returns the anchor of a name that was checked, or of none.
func anchor(name string) media.Anchor {
	a, _ := media.ParseAnchor(cmp.Or(name, usualAnchor))
	return a
}
