// Package op is the operations that there are without anybody registering any.
//
// A folder below it is a room for operations of one kind. Each operation is a file there,
// with its arguments, what help says of it, and what carries it out. Importing this
// package makes recipes know them all; package headrace does.
package op

import (
	"cmp"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/headrace/headrace/op/column"
	"github.com/headrace/headrace/op/data"
	"github.com/headrace/headrace/op/flow"
	"github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/op/sound"
	"github.com/headrace/headrace/op/video"
	"github.com/headrace/headrace/recipe"
)

// order lists them as help does. A folder stands for its steps that have no word here, by
// name: a new step needs none.
var order = strings.Fields(`
	files read source split merge mix shuffle sampler weighted take skip slice shard route
	decode_image decode_npy decode_npz sound/ video/
	map filter flat_map aggregate
	select drop rename copy data/ boxes points
	cast fill_nan clip log1p scale bucketize hash_buckets one_hot concat column/
	resize resize_to_bucket center_crop random_crop random_resized_crop pad
	random_flip random_vertical_flip rotate90 random_rotate90
	color_jitter grayscale random_grayscale image/ normalize layout
	lanes batch bucket_batch pack unbatch`)

func init() {
	all := slices.Concat(column.Ops, data.Ops, flow.Ops, image.Ops, input.Ops, python.Ops, sound.Ops, video.Ops)
	slices.SortFunc(all, func(a, b recipe.Op) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.Name, b.Name))
	})
	for _, o := range all {
		if err := recipe.Register(o); err != nil {
			panic(err) // a mistake in this program, which every test finds
		}
	}
}

// place returns the place of an operation in help.
func place(o recipe.Op) int {
	if i := slices.Index(order, o.Name); i >= 0 {
		return i
	}
	folder := path.Base(reflect.TypeOf(o.New()).Elem().PkgPath()) + "/"
	return slices.Index(order, folder)
}
