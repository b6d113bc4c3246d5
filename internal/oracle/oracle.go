package oracle

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/headrace/headrace/internal/tier"
)

// Picture is pixels of 8 bits, row by row, channels interleaved: 1 grey, 3 RGB, 4 CMYK.
type Picture struct {
	Width, Height, Channels int
	Pix                     []byte
}

// Encoding says how Encode writes a JPEG. Its zero value is Pillow's default.
type Encoding struct {
	Quality     int    `json:"quality,omitempty"`
	Subsampling string `json:"subsampling,omitempty"` // "4:4:4", "4:2:2" or "4:2:0"
	Progressive bool   `json:"progressive,omitempty"`
	Optimize    bool   `json:"optimize,omitempty"`
	RestartRows int    `json:"restart_marker_rows,omitempty"`
	Restart     int    `json:"restart_marker_blocks,omitempty"`
	EXIF        []byte `json:"exif,omitempty"`
	XMP         []byte `json:"xmp,omitempty"`
	KeepRGB     bool   `json:"keep_rgb,omitempty"`
}

// Encode writes the picture as JPEG.
func Encode(t testing.TB, p Picture, e Encoding) []byte {
	t.Helper()
	r := ask(t, "encode", map[string]any{"picture": size(p), "encoding": e}, p.Pix)
	return r.Blobs[0]
}

// LoadPNG has torchvision read a PNG. It keeps 16 bits, in the machine's byte order, of
// all channels; Pillow does of grey alone.
func LoadPNG(t testing.TB, data []byte) Picture {
	t.Helper()
	return ask(t, "load_png", nil, data).picture(t)
}

// Decode reads a JPEG with Pillow, as RGB; upright applies the orientation that EXIF or
// XMP state.
func Decode(t testing.TB, data []byte, upright bool) Picture {
	t.Helper()
	return ask(t, "decode", map[string]any{"upright": upright}, data).picture(t)
}

// Orientation is the orientation that Pillow finds in a JPEG; 1 where it finds none.
func Orientation(t testing.TB, data []byte) int {
	t.Helper()
	var o int
	ask(t, "orientation", nil, data).into(t, &o)
	return o
}

// Transpose turns a picture upright as Pillow does for one of EXIF's orientations.
func Transpose(t testing.TB, p Picture, orientation int) Picture {
	t.Helper()
	return ask(t, "transpose", map[string]any{"picture": size(p), "orientation": orientation}, p.Pix).picture(t)
}

// Resize is Pillow's antialiased bilinear resize.
func Resize(t testing.TB, p Picture, width, height int) Picture {
	t.Helper()
	return ask(t, "resize", map[string]any{"picture": size(p), "to": []int{width, height}}, p.Pix).picture(t)
}

// Step is one of torchvision's functional transforms on a Pillow image: resize (size,
// max_size or 0), resize_exact (height, width), center_crop (height, width), crop (top,
// left, height, width), hflip.
type Step struct {
	Name string `json:"name"`
	Args []int  `json:"args"`
}

// Transform applies torchvision's transforms one after the other.
func Transform(t testing.TB, p Picture, steps ...Step) Picture {
	t.Helper()
	return ask(t, "transform", map[string]any{"picture": size(p), "steps": steps}, p.Pix).picture(t)
}

// ResizedSizes are torchvision's sizes after a resize of the short side: of height,
// width, size, max_size or 0, the new height and width.
func ResizedSizes(t testing.TB, cases [][4]int) (sizes [][2]int) {
	t.Helper()
	ask(t, "resized_sizes", map[string]any{"cases": cases}).into(t, &sizes)
	return sizes
}

// RandomCrop is a question to RandomResizedCrops: a picture, the bounds, and what to
// use instead of random numbers: area and ratio for each of ten tries, then the place,
// vertically and horizontally.
type RandomCrop struct {
	Width  int         `json:"width"`
	Height int         `json:"height"`
	Scale  [2]float64  `json:"scale"`
	Ratio  [2]float64  `json:"ratio"`
	Draws  [22]float64 `json:"draws"`
}

// RandomResizedCrops has torchvision choose parts of pictures. It answers with top,
// left, height and width.
func RandomResizedCrops(t testing.TB, cases []RandomCrop) (crops [][4]int) {
	t.Helper()
	ask(t, "random_resized_crops", map[string]any{"cases": cases}).into(t, &crops)
	return crops
}

// Run calls a function of a Python module, whose text is given. The function takes args
// and blobs, and returns a result, which is stored in into, and blobs of its own.
func Run(t testing.TB, module, function string, args, into any, blobs ...[]byte) [][]byte {
	t.Helper()
	r := ask(t, "run", map[string]any{"module": module, "function": function, "args": args}, blobs...)
	if into != nil {
		r.into(t, into)
	}
	return r.Blobs
}

func size(p Picture) [3]int { return [3]int{p.Width, p.Height, p.Channels} }

type reply struct {
	Result json.RawMessage `json:"result"`
	Error  string          `json:"error"`
	Sizes  []int           `json:"blobs"`
	Blobs  [][]byte        `json:"-"`
}

func (r reply) into(t testing.TB, to any) {
	t.Helper()
	if err := json.Unmarshal(r.Result, to); err != nil {
		t.Fatalf("internal/oracle: %v", err)
	}
}

func (r reply) picture(t testing.TB) Picture {
	t.Helper()
	var s [3]int
	r.into(t, &s)
	return Picture{s[0], s[1], s[2], r.Blobs[0]}
}

// ask sends one question and waits for its answer.
func ask(t testing.TB, op string, args any, blobs ...[]byte) reply {
	t.Helper()
	tier.StartsProcesses(t)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.p == nil && shared.err == nil {
		shared.p, shared.err = start()
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	r, err := shared.p.ask(op, args, blobs)
	if err != nil {
		shared.err = fmt.Errorf("internal/oracle: Python ended: %w", err)
		t.Fatal(shared.err)
	}
	if r.Error != "" {
		t.Fatalf("internal/oracle: %s: %s", op, r.Error)
	}
	return r
}

var shared struct {
	mu  sync.Mutex
	p   *process
	err error
}

type process struct {
	in  io.WriteCloser
	out *bufio.Reader
}

//go:embed oracle.py
var script string

func start() (*process, error) {
	python, err := interpreter()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(python, "-c", script)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("internal/oracle: %w", err)
	}
	p := &process{in, bufio.NewReaderSize(out, 1<<16)}
	if r, err := p.ask("hello", nil, nil); err != nil {
		return nil, fmt.Errorf("internal/oracle: %s does not answer (%w): run make install", python, err)
	} else if r.Error != "" {
		return nil, fmt.Errorf("internal/oracle: %s: %s: run make install", python, r.Error)
	}
	return p, nil
}

func interpreter() (string, error) {
	if python := os.Getenv("HEADRACE_PYTHON"); python != "" {
		return python, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("internal/oracle: outside of the module")
		}
	}
	python := filepath.Join(dir, ".venv", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		return "", fmt.Errorf("internal/oracle: no Python to compare with at %s: run make install, or set HEADRACE_PYTHON", python)
	}
	return python, nil
}

func (p *process) ask(op string, args any, blobs [][]byte) (reply, error) {
	sizes := make([]int, len(blobs))
	for i, b := range blobs {
		sizes[i] = len(b)
	}
	line, err := json.Marshal(map[string]any{"op": op, "args": args, "blobs": sizes})
	if err != nil {
		return reply{}, err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return reply{}, err
	}
	for _, b := range blobs {
		if _, err := p.in.Write(b); err != nil {
			return reply{}, err
		}
	}
	return p.answer()
}

func (p *process) answer() (reply, error) {
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return reply{}, err
	}
	var r reply
	if err := json.Unmarshal(line, &r); err != nil {
		return reply{}, fmt.Errorf("%w in %q", err, line)
	}
	for _, n := range r.Sizes {
		b := make([]byte, n)
		if _, err := io.ReadFull(p.out, b); err != nil {
			return reply{}, err
		}
		r.Blobs = append(r.Blobs, b)
	}
	return r, nil
}
