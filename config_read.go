package headrace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/bytesize"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/recipe"
)

// Mistake is one mistake in a configuration. Where there are several, they come joined.
type Mistake struct {
	recipe.Position        // where in a recipe's file, if it is from one
	Key             string // "workers"; "": the configuration as a whole
	Err             error

	stray bool // the key itself is wrong, not its value
}

// Error is like `headrace: workers is 0: must be from 1 to 256, or null for the
// default`; of a recipe's file, it begins with the place.
func (m *Mistake) Error() string {
	if m.File != "" || m.Line > 0 {
		return m.Position.String() + ": loader: " + m.Err.Error()
	}
	return "headrace: " + m.Err.Error()
}

func (m *Mistake) Unwrap() error { return m.Err }

// Path implements [recipe.Mistake].
func (m *Mistake) Path() (path, key string) {
	switch {
	case m.stray:
		return "loader", m.Key
	case m.Key != "":
		return "loader." + m.Key, ""
	}
	return "loader", ""
}

// Place implements [recipe.Mistake].
func (m *Mistake) Place() recipe.Position { return m.Position }

// At implements [recipe.Mistake].
func (m *Mistake) At(p recipe.Position) error {
	located := *m
	located.Position = p
	return &located
}

// ParseConfig reads the JSON form, refuses unknown keys, and checks the values. The error
// joins a [*Mistake] for each.
func ParseConfig(b []byte) (Config, error) {
	r := configReader{settings: settings()}
	return r.read(b)
}

// FileConfig reads the section "loader" of a recipe's file, and checks it; without one it
// is the zero Config. Mistakes have their places. What belongs to a process and not to a
// recipe is refused: its rank.
func FileConfig(f recipe.File) (Config, error) {
	if f.Loader == nil {
		return Config{}, nil
	}
	r := configReader{settings: settings(), refused: ofTheProcess, sizes: true}
	c, err := r.read(f.Loader)
	c.DeadLettersOwn = c.DeadLetters != ""
	if climbs(string(c.DeadLetters)) {
		err = errors.Join(err, &Mistake{Key: "dead_letters", Err: fmt.Errorf("dead_letters is %q: must be "+
			"a path without .. in a recipe; for other paths use .loader(dead_letters=…) or --dead-letters", c.DeadLetters)})
	}
	return c, f.Locate(err)
}

// climbs tells whether a path leads out of the folder that it begins in.
func climbs(path string) bool { return slices.Contains(strings.Split(path, "/"), "..") }

// ofTheProcess are the keys that no recipe has, as it is the same for all ranks.
var ofTheProcess = map[string]string{
	"rank":             "each process has its own; Python takes it from RANK in the environment",
	"world_size":       "it belongs to the processes that share the data; Python takes it from WORLD_SIZE in the environment",
	"dead_letters_own": "the file that a recipe names is always a new one",
	"agree":            "it belongs to the processes that share the data; Python says it where torch.distributed is initialised",
	"part":             "each process has its own; headrace run takes it from --part",
	"parts":            "it belongs to the processes that share the work; headrace run takes it from --part",
	"local_world_size": "it belongs to the machine that runs it; Python takes it from LOCAL_WORLD_SIZE in the environment",
}

// setting is a field of Config.
type setting struct {
	name  string
	index int
	bytes bool // people write it with a unit
}

func settings() (all []setting) {
	t := reflect.TypeFor[Config]()
	for i := range t.NumField() {
		f := t.Field(i)
		all = append(all, setting{f.Tag.Get("json"), i, f.Tag.Get("unit") == "bytes"})
	}
	return all
}

// configReader reads a configuration key by key, so that each mistake is reported with
// its key.
type configReader struct {
	settings []setting
	refused  map[string]string // keys, and why there are none of them
	sizes    bool              // amounts of bytes may be text such as 2GiB
	mistakes []error
}

func (r *configReader) wrong(key string, stray bool, err error) {
	r.mistakes = append(r.mistakes, &Mistake{Key: key, Err: err, stray: stray})
}

func (r *configReader) read(b []byte) (c Config, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return Config{}, &Mistake{Err: errors.New("the configuration is not a JSON object")}
	}

	given := make(map[string]bool)
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err == nil {
			err = d.Decode(&value)
		}
		if err != nil {
			return Config{}, &Mistake{Err: fmt.Errorf("the configuration is not valid JSON: %w", err)}
		}

		name := key.(string)
		if given[name] {
			r.wrong(name, true, fmt.Errorf("%s is given twice", name))
			continue
		}
		given[name] = true
		r.set(&c, name, value)
	}

	if _, err := d.Token(); err != nil || d.More() {
		return Config{}, &Mistake{Err: errors.New("the configuration is not valid JSON: something follows its object")}
	}

	// What could not be read has no value to be checked; the rest is.
	if err := errors.Join(append(r.mistakes, c.Check())...); err != nil {
		return Config{}, err
	}
	return c, nil
}

// set fills the field of a name.
func (r *configReader) set(c *Config, name string, value json.RawMessage) {
	if why, ok := r.refused[name]; ok {
		r.wrong(name, true, fmt.Errorf("%s has no place in a recipe: %s", name, why))
		return
	}
	var known []string
	for _, s := range r.settings {
		if s.name == name {
			r.fill(c, s, value)
			return
		}
		if _, ok := r.refused[s.name]; !ok {
			known = append(known, s.name)
		}
	}
	r.wrong(name, true, words.Unknown("key", name, known))
}

func (r *configReader) fill(c *Config, s setting, value json.RawMessage) {
	if r.sizes && s.bytes && value[0] == '"' {
		var text string
		_ = json.Unmarshal(value, &text) // it has been decoded before
		n, err := bytesize.Parse(text)
		if err != nil {
			r.wrong(s.name, false, fmt.Errorf("%s is %s: %w", s.name, value, err))
		}
		value = fmt.Appendf(nil, "%d", max(1, n))
	}
	in := reflect.ValueOf(c).Elem().Field(s.index)
	field := in.Addr().Interface()
	if err := json.Unmarshal(value, field); err != nil {
		in.SetZero()
		r.wrong(s.name, false, fmt.Errorf("%s is %s: must be %s", s.name, shortened(value), s.takes(field)))
	}
}

// takes says what a setting is written as.
func (s setting) takes(field any) string {
	switch field.(type) {
	case *MaxErrors:
		return "a whole number of samples or a rate like 0.01"
	case *Order, *OnError, *recipe.Path:
		return "text"
	case **float64:
		return "a number of seconds"
	case **bool:
		return "true or false"
	}
	if s.bytes {
		return "a number of bytes"
	}
	return "a whole number"
}

func shortened(value []byte) string {
	if len(value) > 60 {
		return strings.ToValidUTF8(string(value[:60]), "") + "…"
	}
	return string(value)
}

// longDocs are texts about fields of Config which are too long for a tag.
var longDocs = map[string]string{
	"order": "input, the default: the same batches in every run; completion: fast samples pass slow ones",
	"memory": "bytes for samples and batches, also as text such as 2GiB; null: a quarter of what is " +
		"available, at most 2 GiB",
	"hold_limit": "bytes of batches that the consumer may hold, also as text; null: half of what is available",
	"on_error": "raise, the default: the first bad sample stops the run; skip: bad samples are left out, " +
		"counted and named; replace: another sample of the same source comes instead of each",
	"max_errors": "with skip and replace, how many samples of an epoch may be bad: a whole number of them, or " +
		"a share with a decimal point such as 0.01; null: 1 %, at least 10",
	"steps_per_epoch": "batches of every epoch, on every rank: what is left is dropped, and less is an error; " +
		"null: as many as there are",
	"uneven": "true: every sample comes exactly once, so that the last ranks may have a batch less than the " +
		"others: for evaluation only, since collective operations would wait for a batch that does not come; " +
		"by default samples from the beginning of the epoch fill up",
	"stall_after": "seconds in which nothing moves before a warning says what is waited for; 0: never; null: 60",
	"prefetch": "batches ready ahead of the consumer; functions of Python are called for no samples beyond them; " +
		"0: a batch is begun when it is asked for; null: 2, and functions may be further ahead",
	"jpeg": "headrace, the default: Headrace's own decoder; turbo: libjpeg-turbo, with the same pixels, to " +
		"compare the two or to rule one out",
	"dead_letters": "a file that gets a JSON object a line for each sample that is lost or replaced, after " +
		"what is in it; null: none",
}

// ConfigSchema returns the JSON Schema of the section "loader" of recipes.
func ConfigSchema() map[string]any {
	s := recipe.ObjectSchema(new(Config))
	properties := s["properties"].(map[string]any)
	for key := range ofTheProcess {
		delete(properties, key)
	}
	for key, text := range longDocs {
		properties[key].(map[string]any)["description"] = text
	}
	s["description"] = "how the recipe is run: what loader(…) takes in Python, and the flags of headrace run"
	return s
}
