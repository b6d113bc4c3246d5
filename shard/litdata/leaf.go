package litdata

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/internal/joint"
	"github.com/headrace/headrace/tensor"
)

// mostAxes is how many an array may have: NumPy has 64.
const mostAxes = 64

// tokens is the only column of chunks of LitData's TokensLoader.
func tokens(f shard.File, formats []string) (joint.Columns, error) {
	if len(formats) != 1 || !strings.HasPrefix(formats[0], "no_header_") {
		return nil, shard.Wrong(f, -1, shard.ErrCorrupt, "tokens are of format %q", formats)
	}
	column := serializer(formats[0])
	if column.Read == nil {
		return nil, shard.Wrong(f, -1, shard.ErrUnsupported, "tokens are of format %q: %s", formats, column.Refused)
	}
	column.Name, column.Size = "tokens", joint.Rest
	return joint.Columns{column}, nil
}

// node is one of the tree that torch.utils._pytree makes of a sample.
type node struct {
	Type     *string `json:"type"`
	Context  *string `json:"context"`
	Children []node  `json:"children_spec"`
}

// leaves are the columns of samples whose tree is spec.
func leaves(f shard.File, formats []string, spec string) (joint.Columns, error) {
	var tree []json.RawMessage // the protocol, and the root
	var root node
	err := json.Unmarshal([]byte(spec), &tree)
	if err == nil && len(tree) == 2 {
		err = json.Unmarshal(tree[1], &root)
	}
	if err != nil || len(tree) != 2 {
		return nil, shard.Wrong(f, -1, shard.ErrCorrupt, "data_spec is not one: %v", err)
	}
	names, err := named(nil, root, "")
	if err != nil {
		return nil, shard.Wrong(f, -1, shard.ErrCorrupt, "data_spec: %v", err)
	}
	if len(names) != len(formats) {
		return nil, shard.Wrong(f, -1, shard.ErrCorrupt, "data_spec has %d leaves, and data_format %d", len(names), len(formats))
	}

	columns := make(joint.Columns, len(names))
	seen := map[string]bool{}
	for i, leaf := range names {
		if leaf == "" || seen[leaf] {
			return nil, shard.Wrong(f, -1, shard.ErrUnsupported, "two leaves of a sample would be field %q", leaf)
		}
		seen[leaf] = true
		columns[i] = serializer(formats[i])
		columns[i].Name = leaf
	}
	return columns, nil
}

// named appends the names of a tree's leaves.
func named(all []string, n node, path string) ([]string, error) {
	if n.Type == nil {
		if path == "" {
			path = "value"
		}
		return append(all, path), nil
	}

	// Dictionaries have their keys as context. What has others is numbered.
	var keys []any
	if n.Context != nil && strings.HasSuffix(strings.ToLower(*n.Type), "dict") {
		if json.Unmarshal([]byte(*n.Context), &keys) != nil || len(keys) != len(n.Children) {
			keys = nil
		}
	}
	if path != "" {
		path += "."
	}
	for i, child := range n.Children {
		key := strconv.Itoa(i)
		if keys != nil {
			key = fmt.Sprint(keys[i])
		}
		var err error
		if all, err = named(all, child, path+key); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// files are serializers that keep the content of a file as it is.
var files = []string{"bytes", "jpeg", "image", "tiff", "tifffile", "file", "video", "audio", "pdf", "nifti", "mesh"}

// serializer is the column of one, without its name.
func serializer(format string) joint.Column {
	kind, option, _ := strings.Cut(format, ":")
	switch {
	case slices.Contains(files, kind):
		return joint.Column{Read: joint.Plain(sample.BytesType)}
	case kind == "str" || kind == "text":
		return joint.Column{Read: joint.Plain(sample.TextType)}
	case kind == "int":
		return joint.Column{Read: joint.Array(tensor.Int64)}
	case kind == "float":
		return joint.Column{Read: joint.Array(tensor.Float64)}
	case kind == "bool":
		return joint.Column{Read: truth}
	case kind == "pil":
		return joint.Column{Read: joint.Pillow}
	case kind == "tensor":
		return joint.Column{Read: headed(binary.BigEndian, torchType)}
	case kind == "numpy":
		return joint.Column{Read: headed(binary.LittleEndian, numpyType)}
	case kind == "no_header_tensor" || kind == "no_header_numpy":
		return bare(kind, option)
	case kind == "pickle":
		return joint.Column{Refused: joint.Pickled}
	}
	return joint.Column{Refused: fmt.Sprintf("the serializer %q is not known", format)}
}

func truth(data []byte) (sample.Type, []int, []byte, error) {
	t := sample.TensorType(tensor.Bool)
	if len(data) != 1 || data[0] > 1 {
		return t, nil, nil, fmt.Errorf("%w: a truth value is neither 0 nor 1", shard.ErrCorrupt)
	}
	return t, nil, data, nil
}

// bare are arrays of one axis, whose type is in the name of their format.
func bare(kind, option string) joint.Column {
	number, err := strconv.ParseUint(option, 10, 32)
	known := torchType
	if kind == "no_header_numpy" {
		known = numpyType
	}
	d := known(uint32(number))
	if err != nil || !d.Valid() {
		return joint.Column{Refused: fmt.Sprintf("arrays of %s are of no known type", option)}
	}
	return joint.Column{Read: joint.Array(d, tensor.Unknown)}
}

// headed reads arrays that begin with the number of their type, of their axes, and the
// extents.
func headed(order binary.ByteOrder, known func(uint32) tensor.DType) func([]byte) (sample.Type, []int, []byte, error) {
	return func(data []byte) (t sample.Type, shape []int, content []byte, err error) {
		if len(data) < 8 {
			return t, nil, nil, fmt.Errorf("%w: an array of %d bytes", shard.ErrCorrupt, len(data))
		}
		d, axes := known(order.Uint32(data)), int64(order.Uint32(data[4:]))
		if !d.Valid() {
			return t, nil, nil, fmt.Errorf("%w: an array of type %d", shard.ErrUnsupported, order.Uint32(data))
		}
		if axes > mostAxes || 4*axes > int64(len(data))-8 {
			return t, nil, nil, fmt.Errorf("%w: an array of %d axes", shard.ErrCorrupt, axes)
		}
		for axis := range axes {
			shape = append(shape, int(order.Uint32(data[8+4*axis:])))
		}
		return joint.Shaped(d, shape, data[8+4*axes:])
	}
}

// torchType is the type of a number in LitData's table of PyTorch's types.
func torchType(n uint32) tensor.DType {
	switch n {
	case 0, 1:
		return tensor.Float32
	case 2, 3:
		return tensor.Float64
	case 8, 9:
		return tensor.Float16
	case 10:
		return tensor.BFloat16
	case 11:
		return tensor.Uint8
	case 12:
		return tensor.Int8
	case 13, 14:
		return tensor.Int16
	case 15, 16:
		return tensor.Int32
	case 17, 18:
		return tensor.Int64
	case 19:
		return tensor.Bool
	case 20:
		return tensor.Uint16
	}
	return tensor.Invalid
}

// numpyType is that of a number in the table of NumPy's.
func numpyType(n uint32) tensor.DType {
	all := []tensor.DType{
		tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64, tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64,
		tensor.Float16, tensor.Float32, tensor.Float64, 11: tensor.Invalid, 12: tensor.Invalid, 13: tensor.Bool,
	}
	if n >= uint32(len(all)) {
		return tensor.Invalid
	}
	return all[n]
}
