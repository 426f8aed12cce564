{{- /* The pods of a pool, from (dict "root" . "part" labels "values" the pool's values "container" the container's name). */}}
{{- define "quartet.triton" -}}
{{- include "quartet.pod" (dict "root" .root "user" 1000) | nindent 0 }}
{{- include "quartet.spread" .part | nindent 0 }}
# Longer than the delay before it stops, and than Triton waits for running calls.
terminationGracePeriodSeconds: 330
{{- include "quartet.placement" .values | nindent 0 }}
{{- include "quartet.near" (dict "root" .root "values" .values) | nindent 0 }}
{{- include "quartet.wait" (dict "root" .root "image" "triton") | nindent 0 }}
containers:
  - name: {{ .container }}
    image: {{ include "quartet.image" (dict "root" .root "name" "triton") }}
    {{- include "quartet.container" .root | nindent 4 }}
    args:
      - --model-config-name={{ .values.config }}
      {{- range include "quartet.loaded" (dict "root" .root "models" .values.models) | fromJsonArray }}
      - --load-model={{ . }}
      {{- end }}
    env:
      - { name: MODEL_REPOSITORY, value: {{ include "quartet.repository" .root }} }
      - { name: QUARTET_TRITON_SECRET_FILE, value: /run/quartet/secrets/triton_secret }
      {{- with include "quartet.processors" .values.resources }}
      # A pod without a CPU limit sees all processors of its node, so threads and instances fit its CPU request.
      - name: PROCESSORS
        valueFrom: { resourceFieldRef: { containerName: {{ $.container }}, resource: {{ . }} } }
      {{- end }}
      {{- if .values.gpus }}
      # CTranslate2 has no machine code for Hopper and newer: the driver compiles it once for all processes of a pod.
      - { name: CUDA_CACHE_PATH, value: /cuda }
      - { name: CUDA_CACHE_MAXSIZE, value: "4294967296" }
      {{- end }}
      {{- with .values.extraEnv }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
    ports:
      - { name: http, containerPort: 8000 }
      - { name: grpc, containerPort: 8001 }
      - { name: metrics, containerPort: 8002 }
    # An ending pod goes on answering until the frontends have resolved its Service again.
    lifecycle: { preStop: { exec: { command: [sleep, "15"] } } }
    # Triton answers when it has tried to load every model; the largest take minutes. Frontends ask for each model.
    startupProbe: { httpGet: { path: /v2/health/ready, port: http }, periodSeconds: 5, timeoutSeconds: 5, failureThreshold: 180 }
    readinessProbe: { httpGet: { path: /v2/health/ready, port: http }, periodSeconds: 5, timeoutSeconds: 5, failureThreshold: 3 }
    livenessProbe: { httpGet: { path: /v2/health/live, port: http }, periodSeconds: 10, timeoutSeconds: 10, failureThreshold: 6 }
    resources:
      requests:
        {{- toYaml .values.resources.requests | nindent 8 }}
      limits:
        {{- toYaml .values.resources.limits | nindent 8 }}
        {{- if .values.gpus }}
        {{ .values.gpuResource | default "nvidia.com/gpu" }}: {{ .values.gpus }}
        {{- end }}
    volumeMounts:
      - { name: models, mountPath: /models, readOnly: true }
      - { name: shm, mountPath: /dev/shm }
      - { name: tmp, mountPath: /tmp }
      - { name: secret, mountPath: /run/quartet/secrets, readOnly: true }
      {{- if .values.gpus }}
      - { name: cuda, mountPath: /cuda }
      {{- end }}
volumes:
  # Shared memory counts towards the memory limit.
  - { name: shm, emptyDir: { medium: Memory, sizeLimit: {{ .values.sharedMemory }} } }
  - { name: tmp, emptyDir: { sizeLimit: 1Gi } }
  - name: secret
    secret: { secretName: {{ include "quartet.secret" .root }}, items: [{ key: triton_secret, path: triton_secret }] }
  {{- if .values.gpus }}
  - { name: cuda, emptyDir: { sizeLimit: 4Gi } }
  {{- end }}
  {{- include "quartet.models" (dict "root" .root "image" .root.Values.models.image.reference) | nindent 2 }}
{{- end }}
