package lines

import (
	"bytes"
	"fmt"
	"strconv"
)

// clashes finds members of a record that have the same path, as those of
// {"a.b": 1, "a": {"b": 2}} do, and says which they are. It is for records with a name
// that has a dot: no others have any.
func clashes(record []byte, replaces bool) (map[string]string, error) {
	c := clashing{reader: jsonReader{b: record, replaces: replaces}, spelled: map[string]string{}, found: map[string]string{}}
	err := c.object("", "")
	return c.found, err
}

type clashing struct {
	reader  jsonReader
	spelled map[string]string // by path, as in Python
	found   map[string]string
}

func (c *clashing) object(above, spelled string) error {
	return c.reader.object(func(name []byte) error {
		plain, err := c.reader.name(nil, name)
		if err != nil {
			return err
		}
		path, how := above+string(plain), spelled+"["+strconv.Quote(string(plain))+"]"
		if was, ok := c.spelled[path]; ok && was != how {
			c.found[path] = fmt.Sprintf("%s and %s are both called %q: rename one, or read other fields", was, how, path)
		}
		c.spelled[path] = how
		if c.reader.next() == '{' {
			return c.object(path+".", how)
		}
		_, err = c.reader.value()
		return err
	})
}

func hasDot(name []byte) bool { return bytes.IndexByte(name, '.') >= 0 }
