package bytesize

import "testing"

func TestParse(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "1073741824": 1 << 30, "512MiB": 512 << 20, "2GB": 2e9, "2 gb": 2e9, " 1.5 KiB ": 1536,
		"3b": 3, "1e3": 1000, "1tib": 1 << 40,
	} {
		if got, err := Parse(text); got != want || err != nil {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "B", "0", "-1", "much", "1 GiBs", "0.5", "NaN", "inf", "1e30", "9223372036854775808", "1 M"} {
		if got, err := Parse(text); err == nil {
			t.Errorf("%q was read as %d", text, got)
		}
	}
}

func TestText(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "0.98 KiB", 1536: "1.5 KiB", 12897484: "12.3 MiB", 1 << 30: "1 GiB", 5 << 40: "5 TiB", 10234 << 10: "9.99 MiB", 10235 << 10: "10 MiB", -2000: "-1.95 KiB", 5000 << 40: "5000 TiB", 300 << 20: "300 MiB"} {
		if got := Text(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
