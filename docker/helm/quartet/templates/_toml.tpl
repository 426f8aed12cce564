{{- /* Helm's own toToml writes whole numbers with a point. JSON's scalars and lists are valid TOML. */}}
{{- define "quartet.toml" -}}
{{- $top := . }}
{{- range $key, $value := . }}
{{- if not (kindIs "map" $value) }}
{{ $key }} = {{ toJson $value }}
{{- end }}
{{- end }}
{{- range $key, $table := . }}
{{- if kindIs "map" $table }}
{{- $inner := dict }}
{{- range $name, $value := $table }}{{ if kindIs "map" $value }}{{ $_ := set $inner $name $value }}{{ end }}{{ end }}
{{- if ne (len $inner) (len $table) }}
[{{ $key }}]
{{- range $name, $value := $table }}
{{- if not (kindIs "map" $value) }}
{{ toJson $name }} = {{ toJson $value }}
{{- end }}
{{- end }}
{{- end }}
{{- range $name, $values := $inner }}
[{{ $key }}.{{ toJson $name }}]
{{- range $field, $value := $values }}
{{ toJson $field }} = {{ if kindIs "map" $value }}{ {{ $first := true }}{{ range $inside, $number := $value }}{{ if not $first }}, {{ end }}{{ $first = false }}{{ toJson $inside }} = {{ toJson $number }}{{ end }} }{{ else }}{{ toJson $value }}{{ end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
