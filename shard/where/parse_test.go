package where

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// Expressions are read as one would read them aloud, and written in one way.
func TestExpressions(t *testing.T) {
	for text, want := range map[string]string{
		"age > 3":                              "age > 3",
		" age>3\n":                             "age > 3",
		"3 < age":                              "age > 3",
		"3 <= age":                             "age >= 3",
		"3 == age":                             "age == 3",
		"0 < age <= 9":                         "age > 0 and age <= 9",
		"0 <= a < 9 and b == 1":                "a >= 0 and a < 9 and b == 1",
		"a and b or c and not d":               "(a and b) or (c and not d)",
		"not a == 1":                           "not a == 1",
		"not (a or b)":                         "not (a or b)",
		"NOT not a":                            "not not a",
		"(a and (b and c)) and d":              "a and b and c and d",
		"((a))":                                "a",
		"city in ('de', \"fr\")":               "city in ('de', 'fr')",
		"city in ['de',]":                      "city in ('de')",
		"city not in ('de',)":                  "not city in ('de')",
		"a is null":                            "a is null",
		"a is not None":                        "not a is null",
		"a IS Null and b":                      "a is null and b",
		"flag == True or flag != false":        "flag == true or flag != false",
		"x >= -1.5e3":                          "x >= -1500",
		"x < +1_000":                           "x < 1000",
		"x < 2.50":                             "x < 2.50",
		"x == .5 or x == 5.":                   "x == .5 or x == 5",
		"x == 12345678901234567890123":         "x == 12345678901234567890123",
		"user.age > 3":                         "user.age > 3",
		"`first name` == 'a' and `in`":         "`first name` == 'a' and `in`",
		"`a``b` is null":                       "`a``b` is null",
		"größe_2 > 1":                          "größe_2 > 1",
		"__key__ == 'a/b'":                     "__key__ == 'a/b'",
		`name == 'it\'s' or name == "it's"`:    `name == 'it\'s' or name == 'it\'s'`,
		`name == 'a\\b\n\x41\u00e9\U0001F600'`: `name == 'a\\b\nAé😀'`,
		"name == ''":                           "name == ''",
		"null.x > 1":                           "null.x > 1",
	} {
		e, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if e.String() != want {
			t.Errorf("%s is %s, want %s", text, e, want)
		}
		if again, err := Parse(e.String()); err != nil || again.String() != e.String() {
			t.Errorf("%s is read again as %v, %v", e, again, err)
		}
	}
}

// Mistakes say what is wrong, show where, and what to write.
func TestMistakes(t *testing.T) {
	for text, says := range map[string]string{
		"":         `is empty: write an expression|^`,
		"  ":       `is empty|^`,
		"age >":    `ends too early: write a column, a number, text|     ^`,
		"age >> 3": `has ">" where a column or a value must be|     ^`,
		"age = 3":  `has "=": write "=="|    ^`,
		"age <> 3": `has "<>": write "!="|    ^`,
		"a & b":    `has "&": write "and"|  ^`,
		"a && b":   `has "&&": write "and"|  ^`,

		"~a":                              `has "~": write "not"|^`,
		"!a":                              `has "!": write "not"|^`,
		"a > 1 b":                         `has "b" at the end of the expression: join expressions|      ^`,
		"(a > 1":                          `ends too early: close them with ")"|      ^`,
		"a > 1)":                          `has ")" at the end|     ^`,
		"(a) > 1":                         `has ">" after parentheses|    ^`,
		"a > b":                           `compares two columns, "a" and "b"|    ^`,
		"city == de":                      `text is written in quotes|        ^`,
		"'a' == 'b'":                      `compares two values|       ^`,
		"3":                               `has a value that is not compared|^`,
		"true":                            `has a value that is not compared|^`,
		"a == null":                       `write "is null" or "is not null"|     ^`,
		"None != a":                       `write "is null" or "is not null"|^`,
		"a is 3":                          `has "3" after "is": write "is null"|     ^`,
		"3 is null":                       `has a value before "is"|^`,
		"3 in (3)":                        `has a value before "in"|^`,
		"a not > 3":                       `has ">" after "not": write "not in"|      ^`,
		"a in 3":                          `has "3" after "in": write values in parentheses|     ^`,
		"a in ()":                         `has a list without values|     ^`,
		"a in (b)":                        `has the column "b" in a list of values: text is written in quotes|      ^`,
		"a in (1, null)":                  `has null in a list of values|         ^`,
		"a in (1 2)":                      `has "2" in a list of values|        ^`,
		"a in (1, 2":                      `ends too early|          ^`,
		"a == 'b":                         `has text whose quote is not closed|     ^`,
		"a == 'it''s'":                    `has text after text: a quote inside text is written with a backslash|         ^`,
		`a == '\d'`:                       `has "\\d" in text: a backslash is written twice|      ^`,
		`a == '\ud800'`:                   `in text: a backslash is written twice|      ^`,
		"`a":                              `has a name whose backquote is not closed|^`,
		"`` == 1":                         `has a name without letters|^`,
		"a == 0x10":                       `has "0x10", which is not a number|     ^`,
		"a == 1__0":                       `which is not a number|     ^`,
		"a == 1.2.3":                      `which is not a number|     ^`,
		"a == 1e999999999":                `whose exponent is beyond ±400|     ^`,
		"a == 1e99999999999":              `whose exponent is beyond ±400|     ^`,
		"a == - b":                        `has "b" after a sign: write a number|       ^`,
		"3d > 1":                          `has "3d", which is not a number: a name that begins with a digit|^`,
		"a == $x":                         `has "$", which means nothing here|     ^`,
		"a | b":                           `write "or"|  ^`,
		"a > 1 and":                       `ends too early|         ^`,
		"or a":                            `has "or" where a column or a value must be|^`,
		strings.Repeat("not ", 101) + "a": `is more than 100 deep`,
		strings.Repeat("(", 5000):         `is more than 100 deep`,
	} {
		e, err := Parse(text)
		what, caret, _ := strings.Cut(says, "|") // no message has one
		var wrong *Error
		if !errors.As(err, &wrong) {
			t.Errorf("%s is %v, %v", text, e, err)
			continue
		}
		lines := strings.Split(err.Error(), "\n")
		if !strings.Contains(lines[0], what) || len(lines) != 3 || caret != "" && strings.TrimPrefix(lines[2], "  ") != caret {
			t.Errorf("%s: %v, want %s", text, err, says)
		}
	}
}

// Of a long expression the part around the mistake is shown, on one line.
func TestLongMistakes(t *testing.T) {
	_, err := Parse("x in (" + strings.Repeat("'ä',\n", 1000) + "] " + strings.Repeat("'ö', ", 1000))
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 3 || len([]rune(lines[1])) > 110 || []rune(lines[1])[strings.Index(lines[2], "^")] != ']' {
		t.Error(err)
	}
}

// Values keep what they are.
func TestValues(t *testing.T) {
	e, err := Parse("a in (-1.5, 'x', true)")
	if err != nil {
		t.Fatal(err)
	}
	in := e.(In)
	if v := in.Values[0]; v.Kind != Number || v.Number.RatString() != "-3/2" || v.At != 6 {
		t.Errorf("%+v", v)
	}
	if v := in.Values[1]; v.Kind != Text || v.Text != "x" || v.At != 12 {
		t.Errorf("%+v", v)
	}
	if v := in.Values[2]; v.Kind != Bool || !v.Bool || in.Column != (Name{"a", 0}) {
		t.Errorf("%+v", v)
	}
}

// Whatever is read is written so that it is read again as the same.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"age > 3 and country in ('de', 'fr')", "not (a is null or b <= -1e3)", "0 < `x y` < 9",
		`s == 'a\\\'\n\x00é'`, "a not in [1, 2,]", "a == 1_000.5", "((((a", "'", "`", "\\", "a == '\xff'"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Parse(text)
		if err != nil {
			var wrong *Error
			if !errors.As(err, &wrong) || wrong.At < 0 || wrong.At > len(text) || !utf8.ValidString(err.Error()) && utf8.ValidString(text) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		again, err := Parse(e.String())
		if err != nil || again.String() != e.String() {
			t.Fatalf("%q is %s, which is read as %v, %v", text, e, again, err)
		}
	})
}
