{{- define "quartet.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- /* Labels of an object; of (dict "root" . "part" "frontend" "pool" ""). */}}
{{- define "quartet.labels" -}}
{{ include "quartet.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "quartet.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- with .pool }}
quartet/pool: {{ . }}
{{- end }}
{{- end }}

{{- /* An image by its digest, or its tag, or the chart's version. */}}
{{- define "quartet.image" -}}
{{- $image := index .root.Values.images .name -}}
{{- if $image.digest }}{{ printf "%s@%s" $image.repository $image.digest }}{{ else }}{{ printf "%s:%s" $image.repository (default .root.Chart.AppVersion $image.tag) }}{{ end }}
{{- end }}

{{- /* What every pod has: no variables about Services, no token, no rights. */}}
{{- define "quartet.pod" -}}
enableServiceLinks: false
automountServiceAccountToken: false
{{- with .root.Values.images.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: {{ .user }}
  runAsGroup: {{ .user }}
  fsGroup: {{ .user }}
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "quartet.container" -}}
imagePullPolicy: {{ .Values.images.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{- define "quartet.spread" -}}
{{- $spread := .root.Values.spread }}
{{- if or $spread.hosts $spread.zones }}
topologySpreadConstraints:
  {{- range $key := ternary (list "kubernetes.io/hostname") list $spread.hosts | concat (ternary (list "topology.kubernetes.io/zone") list $spread.zones) }}
  - maxSkew: 1
    topologyKey: {{ $key }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "quartet.selector" $ | nindent 8 }}
  {{- end }}
{{- end }}
{{- end }}

{{- /* The volume of models, and how long to wait for what a Job puts into it. */}}
{{- define "quartet.models" -}}
- name: models
  {{- if eq .root.Values.models.from "image" }}
  image:
    reference: {{ .image }}
    pullPolicy: {{ .root.Values.images.pullPolicy }}
  {{- else }}
  persistentVolumeClaim: { claimName: {{ include "quartet.claim" .root }}, readOnly: true }
  {{- end }}
{{- end }}

{{- define "quartet.claim" -}}
{{- default (printf "%s-models" (include "quartet.name" .)) .Values.models.claim.name }}
{{- end }}

{{- /* One export is another when its image, its source or its precision is. */}}
{{- define "quartet.export" -}}
{{- printf "%s %s %s" (include "quartet.image" (dict "root" . "name" "export")) .Values.models.source .Values.models.precision | sha256sum | trunc 8 }}
{{- end }}

{{- define "quartet.wait" -}}
{{- if eq .root.Values.models.from "job" }}
initContainers:
  - name: models
    image: {{ include "quartet.image" (dict "root" .root "name" .image) }}
    {{- include "quartet.container" .root | nindent 4 }}
    command: [sh, -c, "until [ -e /models/.exported-{{ include "quartet.export" .root }} ]; do sleep 2; done"]
    resources:
      requests: { cpu: 10m, memory: 16Mi }
      limits: { memory: 64Mi }
    volumeMounts:
      - { name: models, mountPath: /models, readOnly: true }
{{- end }}
{{- end }}

{{- define "quartet.secret" -}}
{{- default (printf "%s-secrets" (include "quartet.name" .)) .Values.secrets.existingSecret }}
{{- end }}
{{- define "quartet.redisSecret" -}}
{{- default (printf "%s-redis" (include "quartet.name" .)) .Values.redis.existingSecret }}
{{- end }}
{{- define "quartet.databaseSecret" -}}
{{- default (printf "%s-postgres" (include "quartet.name" .)) .Values.postgres.existingSecret }}
{{- end }}

{{- /* The longest that a pod of a frontend takes to end: it answers on, drains, and writes its last charges. */}}
{{- define "quartet.grace" -}}
{{- add 30 .Values.frontend.stopDelaySeconds .Values.frontend.drainSeconds }}
{{- end }}
