// Renders the golden cases of task templates with Go's own text/template.
module muster/hack/templates

go 1.25

require golang.org/x/text v0.31.0
