package child

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
)

// Line is a line of a worker's output or log.
type Line struct {
	Stage   string
	Level   string // as Python's logging names it; of what was printed INFO, of standard error WARNING
	Logger  string // "stdout" and "stderr" for what was written there
	Message string
}

// longestLine is the number of bytes after which a line is cut.
const longestLine = 64 << 10

// readLines passes on the process's output, line by line.
func (c *Child) readLines(from *os.File, level, logger string) {
	defer c.readers.Done()
	eachLine(from, func(line []byte) {
		if logger == "stderr" {
			c.lastLines.add(line)
		}
		c.tell(Line{Level: level, Logger: logger, Message: strings.ToValidUTF8(string(line), "\uFFFD")})
	})
}

// readLog passes on the process's log. Each line is a JSON record.
func (c *Child) readLog(from *os.File) {
	defer c.readers.Done()
	eachLine(from, func(line []byte) {
		var record struct{ Stage, Level, Logger, Message string }
		if json.Unmarshal(line, &record) == nil { // cut lines are none, and a worker that writes nonsense learns of no other way
			if record.Logger == "stderr" {
				c.lastLines.add([]byte(record.Message))
			}
			c.tell(Line{Stage: record.Stage, Level: record.Level, Logger: record.Logger, Message: record.Message})
		}
	})
}

// eachLine calls f with each line until the end of the input. Long lines are cut.
func eachLine(from io.Reader, f func([]byte)) {
	r := bufio.NewReaderSize(from, longestLine)
	for {
		line, err := r.ReadSlice('\n')
		if len(line) > 0 {
			if line[len(line)-1] == '\n' {
				line = line[:len(line)-1]
			}
			f(line)
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = r.ReadSlice('\n') // the rest of it
		}
		if err != nil {
			return
		}
	}
}
