import { EXAMPLE_TIME, EXAMPLE_VALUES } from '#controllers/adapter/language/examples.ts'
import { compileTemplate } from '#controllers/adapter/language/index.ts'
import { CelCompileError, CelEvaluationError, CelLimitError, environment, toJson } from '#lib/cel/index.ts'
import { namesBlockedAddress } from '#lib/egress/guarded-lookup.ts'
import { isObject } from '#lib/json/is-object.ts'
import { findExcess } from '#lib/json/size.ts'
import { applyPatches } from '#lib/json-patch/apply.ts'
import type { Json } from '#lib/json-patch/json.ts'
import { PatchError } from '#lib/json-patch/operation.ts'
import { formatPointer, parsePointer } from '#lib/json-patch/pointer.ts'
import { redact } from '#lib/log/redact.ts'
import { hideCredentials, serverOf } from '#lib/nats/url.ts'
import { TemplateRenderError, TemplateSyntaxError } from '#lib/template/errors.ts'
import { readYaml } from '#lib/yaml/read-yaml.ts'
import { ofTexts, ofValues } from '../target.ts'
import { sameAgain } from './same-again.ts'

const DEVICE = { name: 'edge-1', labels: { region: 'berlin' }, inventory: { cores: '4' } }

/** Expressions, templates, patches and what logs leave out. */
export const LIB = [
  ofTexts({
    file: 'lib/cel/environment.ts',
    reads: ['environment'],
    corpus: 'cel',
    refuses: [CelCompileError, CelEvaluationError, CelLimitError],
    read: (text) => void toJson(CEL.compile(text).evaluate({ device: DEVICE })),
  }),
  ofTexts({
    file: 'lib/template/index.ts',
    reads: ['compileTemplate'],
    corpus: 'templates',
    refuses: [TemplateSyntaxError, TemplateRenderError],
    read: (text) =>
      void compileTemplate(text, { names: ['clusterId', 'cluster'], now: () => EXAMPLE_TIME }).render(EXAMPLE_VALUES),
  }),
  ofValues({
    file: 'lib/json-patch/apply.ts',
    reads: ['applyPatches'],
    from: 'anyone',
    corpus: 'patches',
    refuses: [PatchError],
    read(value) {
      if (!isObject<Json>(value) || !Array.isArray(value.patches) || value.document === undefined) return
      if (findExcess([value.document]) !== undefined) return
      const { document } = value
      const before = JSON.stringify(document)
      applyPatches(document, value.patches)
      sameAgain(JSON.stringify(document), before)
    },
  }),
  ofTexts({
    file: 'lib/yaml/read-yaml.ts',
    reads: ['readYaml'],
    corpus: 'api-config',
    refuses: [],
    read(text) {
      const read = readYaml(text)
      if ('value' in read) JSON.stringify(read.value)
    },
  }),
  ofTexts({
    file: 'lib/json-patch/pointer.ts',
    reads: ['parsePointer'],
    corpus: 'field-paths',
    refuses: [],
    read(text) {
      const tokens = parsePointer(text)
      if (tokens !== undefined) sameAgain(formatPointer(tokens), text)
    },
  }),
  ofTexts({
    file: 'lib/nats/url.ts',
    reads: ['serverOf', 'hideCredentials'],
    corpus: 'urls',
    refuses: [URIError],
    read(text) {
      hideCredentials(text)
      const url = URL.parse(text)
      if (url === null) return
      namesBlockedAddress(url)
      serverOf(text)
    },
  }),
  ofValues({
    file: 'lib/log/redact.ts',
    reads: ['redact'],
    from: 'anyone',
    corpus: 'secrets',
    refuses: [],
    read: (value) => void JSON.stringify(redact({ value })),
  }),
]

const CEL = environment({ variables: { device: 'map<string, dyn>' } })
