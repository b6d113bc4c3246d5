package words

import (
	"fmt"
	"strconv"
	"strings"
)

// List is like "a, b, c".
func List(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// Either is like `"a", "b" or "c"`.
func Either(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = strconv.Quote(name)
	}
	last := len(quoted) - 1
	if last < 1 {
		return strings.Join(quoted, "")
	}
	return fmt.Sprintf("%s or %s", strings.Join(quoted[:last], ", "), quoted[last])
}
