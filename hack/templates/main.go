// Command templates reads cases as JSON from stdin ([{template, data}]) and writes what text/template makes of them to stdout:
// {output} or {error: "parse" | "execute"}. Functions have the meaning that tasks know them with; where ours differ from the
// peer's on purpose (int of a text that is no number is an error), they differ here too.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"text/template"
	"time"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

type kase struct {
	Template string `json:"template"`
	Data     any    `json:"data"`
}

type result struct {
	Output *string `json:"output,omitempty"`
	Error  string  `json:"error,omitempty"`
	Detail string  `json:"detail,omitempty"`
}

// The time of every case.
var now = time.Date(2026, time.January, 2, 15, 4, 5, 678_000_000, time.UTC)

func toInt(v any) (int, error) {
	switch n := v.(type) {
	case int:
		return n, nil
	case float64:
		return int(n), nil
	case string:
		return strconv.Atoi(n)
	}
	return 0, fmt.Errorf("%v is no int", v)
}

func toFloat(v any) (float64, error) {
	switch n := v.(type) {
	case int:
		return float64(n), nil
	case float64:
		return n, nil
	case string:
		return strconv.ParseFloat(n, 64)
	}
	return 0, fmt.Errorf("%v is no number", v)
}

var functions = template.FuncMap{
	"now":        func() time.Time { return now },
	"date":       func(layout string, t time.Time) string { return t.Format(layout) },
	"dateFormat": func(layout string, t time.Time) string { return t.Format(layout) },
	"lower":      strings.ToLower,
	"upper":      strings.ToUpper,
	"title":      func(s string) string { return cases.Title(language.English).String(s) },
	"trim":       strings.TrimSpace,
	"trimPrefix": strings.TrimPrefix,
	"trimSuffix": strings.TrimSuffix,
	"replace":    strings.ReplaceAll,
	"contains":   strings.Contains,
	"hasPrefix":  strings.HasPrefix,
	"hasSuffix":  strings.HasSuffix,
	"quote":      strconv.Quote,
	"default": func(other, v any) any {
		if v == nil || v == "" {
			return other
		}
		return v
	},
	"int":     toInt,
	"int64":   toInt,
	"float":   toFloat,
	"float64": toFloat,
	"string":  func(v any) string { return fmt.Sprintf("%v", v) },
}

// ints gives JSON numbers without a fraction the type int, as tasks have them.
func ints(v any) any {
	switch x := v.(type) {
	case json.Number:
		if n, err := strconv.Atoi(x.String()); err == nil {
			return n
		}
		f, err := x.Float64()
		if err != nil {
			log.Fatal(err)
		}
		return f
	case []any:
		for i := range x {
			x[i] = ints(x[i])
		}
	case map[string]any:
		for k := range x {
			x[k] = ints(x[k])
		}
	}
	return v
}

func render(k kase) result {
	t, err := template.New("case").Option("missingkey=error").Funcs(functions).Parse(k.Template)
	if err != nil {
		return result{Error: "parse", Detail: err.Error()}
	}
	var out strings.Builder
	if err := t.Execute(&out, ints(k.Data)); err != nil {
		return result{Error: "execute", Detail: err.Error()}
	}
	text := out.String()
	return result{Output: &text}
}

func main() {
	decoder := json.NewDecoder(os.Stdin)
	decoder.UseNumber()
	var all []kase
	if err := decoder.Decode(&all); err != nil {
		log.Fatal(err)
	}
	results := make([]result, len(all))
	for i, k := range all {
		results[i] = render(k)
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(results); err != nil {
		log.Fatal(err)
	}
}
