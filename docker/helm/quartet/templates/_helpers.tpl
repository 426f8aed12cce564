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

{{- /* An image by its digest, or its tag, or the chart's version. Ours are in images.registry where they name no other. */}}
{{- define "quartet.image" -}}
{{- $image := index .root.Values.images .name -}}
{{- $repository := $image.repository -}}
{{- if not $repository }}
{{- $repository = printf "%s/%s" (required "set images.registry to where you pushed Quartet's images (docker/build.sh --push), or to localhost/quartet on a laptop's cluster" .root.Values.images.registry) .name }}
{{- end }}
{{- if $image.digest }}{{ printf "%s@%s" $repository $image.digest }}{{ else }}{{ printf "%s:%s" $repository (default .root.Chart.AppVersion $image.tag) }}{{ end }}
{{- end }}

{{- /* Where pods run: what a part's values say of it. */}}
{{- define "quartet.placement" -}}
{{- range $key := list "nodeSelector" "tolerations" "affinity" }}
{{- with index $ $key }}
{{ $key }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
{{- end }}

{{- /* One claim that a single node mounts cannot serve pods that are to be on several. */}}
{{- define "quartet.checked" -}}
{{- $models := .Values.models }}
{{- if and (ne $models.from "image") (eq $models.claim.accessMode "ReadWriteOnce") (or .Values.spread.hosts .Values.spread.zones) }}
{{- fail "models.claim.accessMode is ReadWriteOnce, which one node mounts, but spread asks for pods on several: use ReadWriteMany or models.from=image, or set spread.hosts and spread.zones to false" }}
{{- end }}
{{- if and (eq $models.from "job") (eq $models.source "folder") (not $models.folder.claim) }}
{{- fail "models.source is folder: set models.folder.claim to the claim that has the checkpoints" }}
{{- end }}
{{- if and (eq $models.from "image") (semverCompare "<1.33.0-0" .Capabilities.KubeVersion.Version) }}
{{- fail "models.from=image needs Kubernetes 1.33 or newer, which has image volumes" }}
{{- end }}
{{- range $pool, $values := .Values.pools }}
{{- if and $values.gpus (eq $models.from "job") (ne $models.precision "fp16") }}
{{- fail (printf "the pool %s has GPUs: set models.precision to fp16" $pool) }}
{{- end }}
{{- end }}
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

{{- /* The folder with one export. That of a Job has the name of the export, so revisions never share a folder. */}}
{{- define "quartet.repository" -}}
{{- if eq .Values.models.from "job" }}/models/{{ include "quartet.export" . }}{{ else if eq .Values.models.from "claim" }}/models/{{ .Values.models.claim.folder }}{{ else }}/models{{ end }}
{{- end }}

{{- define "quartet.wait" -}}
{{- if eq .root.Values.models.from "job" }}
initContainers:
  - name: models
    image: {{ include "quartet.image" (dict "root" .root "name" .image) }}
    {{- include "quartet.container" .root | nindent 4 }}
    command: [sh, -c, "until [ -d {{ include "quartet.repository" .root }}/ ]; do sleep 2; done"]
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
