import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '#hack/process/folder.ts'
import { freePort } from '#hack/process/ports.ts'
import { rotateCertificates } from '#operator/admission/cert-rotation.ts'
import { type AdmissionOptions, ApiError, controller, operator, PermanentError } from '#operator/index.ts'
import { silent } from '#operator/model/log.ts'
import { manualClock, sharedControlPlane } from '#test/harness/index.ts'
import { eventually, IN_ANNOTATIONS, Widget, type World, world } from './world.ts'

const plane = await sharedControlPlane()
const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1'

/** Declares webhooks for the widgets of one namespace, which call our port, and says how to serve them. */
const declare = async (the: World, names: { validate?: string; mutate?: string }): Promise<AdmissionOptions> => {
  const port = await freePort()
  const create = (kind: string, plural: string, verb: string, controllerName: string) =>
    plane.rest('POST', `${CONFIGURATIONS}/${plural}`, {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind,
      metadata: { name: the.namespace },
      webhooks: [
        {
          name: `${verb}.test.muster.dev`,
          admissionReviewVersions: ['v1'],
          sideEffects: 'None',
          timeoutSeconds: 5,
          failurePolicy: 'Fail',
          clientConfig: { url: `https://127.0.0.1:${port}/${verb}/${controllerName}` },
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': the.namespace } },
          rules: [
            {
              apiGroups: ['test.muster.dev'],
              apiVersions: ['v1'],
              resources: ['widgets'],
              operations: ['CREATE', 'UPDATE', 'DELETE'],
            },
          ],
        },
      ],
    })
  if (names.validate !== undefined) {
    await create('ValidatingWebhookConfiguration', 'validatingwebhookconfigurations', 'validate', names.validate)
  }
  if (names.mutate !== undefined) {
    await create('MutatingWebhookConfiguration', 'mutatingwebhookconfigurations', 'mutate', names.mutate)
  }
  return {
    binding: { host: '127.0.0.1', port },
    hosts: ['127.0.0.1'],
    secret: { name: 'webhook-ca', namespace: the.namespace },
    ...(names.validate !== undefined && { validating: the.namespace }),
    ...(names.mutate !== undefined && { mutating: the.namespace }),
  }
}

const undeclare = async (the: World) => {
  for (const plural of ['validatingwebhookconfigurations', 'mutatingwebhookconfigurations']) {
    await plane.rest('DELETE', `${CONFIGURATIONS}/${plural}/${the.namespace}`).catch(() => {})
  }
}

/** The API server learns of a webhook by a watch of its own: until then it calls none, or trusts none. */
const learned = (probe: () => Promise<unknown>): Promise<unknown> =>
  eventually(async () => {
    await expect(probe()).rejects.toThrow('denied the request')
  })

describe('admission', () => {
  // RUNTIME-45
  it('refuses with all messages at once, warns, and leaves alone what a filter excludes', async () => {
    await using the = await world(plane)
    const widgets = controller(Widget, { name: 'strict', ...IN_ANNOTATIONS })
    widgets.on.validate('size', ({ object }) => {
      if (object.spec.size > 10) throw new PermanentError('size must be 10 at most', { reason: 'TooLarge' })
    })
    widgets.on.validate(
      'color',
      ({ object, warnings }) => {
        if (object.spec.color === undefined) throw new PermanentError('gold widgets need a color')
        warnings.push('gold is expensive')
      },
      { labels: { tier: 'gold' } },
    )
    widgets.on.validate('keep', ({ operation, object }) => {
      if (operation === 'DELETE' && object.metadata.labels?.keep === 'yes') throw new PermanentError('it is to be kept')
    })
    const admission = await declare(the, { validate: 'strict' })
    await the.run([widgets], { admission })
    await learned(() => the.create('huge', { size: 99 }))

    const refused = await the.create('bad', { size: 99 }, { labels: { tier: 'gold' } }).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(ApiError)
    expect(refused).toMatchObject({
      status: 422,
      reason: 'TooLarge',
      message:
        'admission webhook "validate.test.muster.dev" denied the request: size must be 10 at most; gold widgets need a color',
    })
    await the.create('fine', { size: 1 }, { labels: { keep: 'yes' } })
    await expect(the.remove('fine')).rejects.toThrow('it is to be kept')
    await the.change('fine', { metadata: { labels: { keep: null } } })
    await the.remove('fine')

    const gold = await manifest({ tier: 'gold' }, { size: 2, color: 'red' }, the.namespace)
    const dryRun = ['create', '--dry-run=server', '--output=name', '--filename', gold]
    expect(await plane.kubectl(...dryRun)).toContain('widget.test.muster.dev/dry')
    await expect(plane.kubectl(...dryRun, '--warnings-as-errors')).rejects.toThrow('gold is expensive')
    expect(await the.get('dry')).toBeUndefined()
    await undeclare(the)
  })

  it('changes an object on its way in, and only what it must', async () => {
    await using the = await world(plane)
    const widgets = controller(Widget, { name: 'painter', ...IN_ANNOTATIONS })
    const dryRuns: boolean[] = []
    widgets.on.mutate('paint', ({ object, patch, dryRun }) => {
      dryRuns.push(dryRun)
      if (object.spec.color === undefined) patch.merge({ spec: { color: 'grey' } })
    })
    widgets.on.mutate('label', ({ object, patch }) => {
      patch.edit((draft) => {
        draft.metadata.labels = { ...draft.metadata.labels, color: object.spec.color ?? 'none' }
      })
    })
    const admission = await declare(the, { mutate: 'painter' })
    await the.run([widgets], { admission })
    await eventually(async () => {
      const probe = await the.create('probe').catch((error: unknown) => error)
      await the.remove('probe')
      expect(probe).toMatchObject({ spec: { color: 'grey' } })
    })
    const one = await the.create('one')
    expect(one.spec).toEqual({ size: 1, color: 'grey' })
    expect(one.metadata.labels).toEqual({ color: 'grey' })
    const two = await the.create('two', { color: 'red' })
    expect([two.spec.color, two.metadata.labels]).toEqual(['red', { color: 'red' }])
    expect(dryRuns).not.toContain(true)
    await undeclare(the)
  })

  // RUNTIME-43
  it('shares one authority between replicas, and puts right what others overwrite', async () => {
    await using the = await world(plane)
    const build = () => {
      const widgets = controller(Widget, { name: 'shared', ...IN_ANNOTATIONS })
      widgets.on.validate('never', () => {
        throw new PermanentError('never')
      })
      return widgets
    }
    const admission = await declare(the, { validate: 'shared' })
    const other = { ...admission, binding: { host: '127.0.0.1', port: await freePort() } }
    await Promise.all([the.run([build()], { admission }), the.run([build()], { admission: other })])
    await learned(() => the.create('one'))

    const path = `${CONFIGURATIONS}/validatingwebhookconfigurations/${the.namespace}`
    interface Configuration {
      metadata: { resourceVersion: string }
      webhooks: { clientConfig: { caBundle?: string } }[]
    }
    const configuration = await plane.rest<Configuration>('GET', path)
    const bundle = configuration.webhooks[0]?.clientConfig.caBundle
    expect(
      Buffer.from(bundle ?? '', 'base64')
        .toString()
        .match(/BEGIN CERTIFICATE/g),
    ).toHaveLength(1)
    for (const webhook of configuration.webhooks) delete webhook.clientConfig.caBundle
    await plane.rest('PUT', path, configuration)
    await eventually(async () =>
      expect((await plane.rest<Configuration>('GET', path)).webhooks[0]?.clientConfig.caBundle).toBe(bundle),
    )

    await plane.rest('DELETE', `/api/v1/namespaces/${the.namespace}/secrets/webhook-ca`)
    await eventually(async () =>
      expect((await plane.rest<Configuration>('GET', path)).webhooks[0]?.clientConfig.caBundle).not.toBe(bundle),
    )
    await learned(() => the.create('one'))
    await undeclare(the)
  })

  // API-189
  it('exchanges a certificate of the future soon when the machine’s time is set back', async () => {
    await using the = await world(plane)
    const clock = manualClock()
    const stop = new AbortController()
    let leaves = 0
    const trust = rotateCertificates({
      api: the.api,
      secret: { name: 'ahead', namespace: the.namespace },
      hosts: ['127.0.0.1'],
      clock,
      log: silent,
      signal: stop.signal,
      onLeaf: () => {
        leaves += 1
      },
    })
    await trust.established
    await eventually(() => expect(clock.sleepers()).toBe(1))
    clock.set(-24 * 3_600_000)
    await eventually(async () => {
      await clock.advance('1m')
      expect(leaves).toBe(2)
    })
    stop.abort()
    await trust.stopped
  })

  it('renews its certificate soon when the machine has slept for days', async () => {
    await using the = await world(plane)
    const clock = manualClock()
    const stop = new AbortController()
    let leaves = 0
    const trust = rotateCertificates({
      api: the.api,
      secret: { name: 'slept', namespace: the.namespace },
      hosts: ['127.0.0.1'],
      clock,
      log: silent,
      signal: stop.signal,
      onLeaf: () => {
        leaves += 1
      },
    })
    await trust.established
    await eventually(() => expect(clock.sleepers()).toBe(1))
    clock.set(5 * 24 * 3_600_000)
    await eventually(async () => {
      await clock.advance('1m')
      expect(leaves).toBe(2)
    })
    stop.abort()
    await trust.stopped
  })

  it('ends with one line when its port is taken', async () => {
    await using the = await world(plane)
    const occupied = createServer().listen(0, '127.0.0.1')
    await eventually(() => expect(occupied.listening).toBe(true))
    const address = occupied.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const one = operator({
      controllers: [controller(Widget, { name: 'taken', ...IN_ANNOTATIONS })],
      transport: the.transport,
      namespaces: [the.namespace],
      log: silent,
      admission: {
        binding: { host: '127.0.0.1', port },
        hosts: ['127.0.0.1'],
        secret: { name: 'webhook-ca', namespace: the.namespace },
      },
    })
    await expect(one.start()).rejects.toThrow(`--webhook-bind-address`)
    occupied.close()
  })
})

const manifest = async (labels: Record<string, string>, spec: object, namespace: string): Promise<string> => {
  const file = join(await temporaryFolder('widget'), 'widget.json')
  const object = {
    apiVersion: 'test.muster.dev/v1',
    kind: 'Widget',
    metadata: { name: 'dry', namespace, labels },
    spec,
  }
  await writeFile(file, JSON.stringify(object))
  return file
}
