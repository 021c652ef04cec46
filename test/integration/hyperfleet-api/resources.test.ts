import { describe, expect, test } from 'vitest'
import { conditionsOf, onBothDatabases, serve } from './support.ts'

onBothDatabases((fresh) => {
  describe('create', () => {
    test('answers the whole resource, not ready, at generation 1, and reads back the same', async () => {
      const api = await serve(await fresh())
      const created = await api.call('POST', '/clusters', {
        name: 'one',
        labels: { region: 'eu' },
        spec: { a: [1, { b: null }] },
      })
      expect(created.status).toBe(201)
      expect(created.headers.get('muster-features')).toBe('labels,watch,events')
      const { id, status, ...rest } = created.body
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      expect(rest).toEqual({
        kind: 'Cluster',
        name: 'one',
        href: `/api/hyperfleet/v1/clusters/${id}`,
        labels: { region: 'eu' },
        spec: { a: [1, { b: null }] },
        generation: 1,
        created_time: '2026-01-01T00:00:00.000000Z',
        updated_time: '2026-01-01T00:00:00.000000Z',
        created_by: 'system@hyperfleet.local',
        updated_by: 'system@hyperfleet.local',
        tenancy: {},
      })
      expect(status.phase).toBe('NotReady')
      expect(status.conditions.map(({ type, status }: { type: string; status: string }) => [type, status])).toEqual([
        ['Available', 'False'],
        ['Ready', 'False'],
        ['LastKnownReconciled', 'False'],
        ['Reconciled', 'False'],
      ])
      expect((await api.call('GET', `/clusters/${id}`)).body).toEqual(created.body)
    })

    test('refuses a name that a living resource has, and takes it again once that one is being deleted', async () => {
      const api = await serve(await fresh())
      const { id } = await api.cluster('one')
      await api.report(`/clusters/${id}`, { adapter: 'dns' })
      const duplicate = await api.call('POST', '/clusters', { name: 'one', spec: {} })
      expect([duplicate.status, duplicate.body.code]).toEqual([409, 'HYPERFLEET-CNF-001'])
      await api.call('DELETE', `/clusters/${id}`)
      expect((await api.call('POST', '/clusters', { name: 'one', spec: {} })).status).toBe(201)
    })

    test('puts a child below its parent: owner reference, nested href, and 422 when it is posted flat', async () => {
      const api = await serve(await fresh())
      const parent = await api.cluster('one')
      const child = await api.call('POST', `/clusters/${parent.id}/nodepools`, { name: 'workers', spec: {} })
      expect(child.status).toBe(201)
      expect(child.body.owner_references).toEqual({ id: parent.id, kind: 'Cluster', href: parent.href })
      expect(child.body.href).toBe(`${parent.href}/nodepools/${child.body.id}`)
      expect((await api.call('POST', '/nodepools', { name: 'workers', spec: {} })).status).toBe(422)
      expect((await api.call('POST', '/clusters/nobody/nodepools', { name: 'workers', spec: {} })).status).toBe(404)
      expect((await api.call('GET', `/clusters/nobody/nodepools/${child.body.id}`)).status).toBe(404)
      for (const path of ['/nodepools', `/clusters/${parent.id}/nodepools`])
        expect((await api.call('GET', `${path}/${child.body.id}`)).body).toEqual(child.body)
    })

    test.each([
      ['no body', undefined, 'HYPERFLEET-VAL-006'],
      ['no JSON', '{', 'HYPERFLEET-VAL-006'],
      ['a list', '[]', 'HYPERFLEET-VAL-000'],
      ['no name', { spec: {} }, 'HYPERFLEET-VAL-000'],
      ['no spec', { name: 'one' }, 'HYPERFLEET-VAL-000'],
      ['spec is null', { name: 'one', spec: null }, 'HYPERFLEET-VAL-000'],
      ['a number as name', { name: 111, spec: {} }, 'HYPERFLEET-VAL-000'],
      ['an upper-case name', { name: 'One', spec: {} }, 'HYPERFLEET-VAL-000'],
      ['a short name', { name: 'on', spec: {} }, 'HYPERFLEET-VAL-000'],
      ['another kind', { kind: 'NodePool', name: 'one', spec: {} }, 'HYPERFLEET-VAL-000'],
      ['a bad label', { name: 'one', spec: {}, labels: { 'a b': 'c' } }, 'HYPERFLEET-VAL-000'],
      ['NUL in the spec', { name: 'one', spec: { a: 'x\0' } }, 'HYPERFLEET-VAL-006'],
      ['half a surrogate pair', { name: 'one', spec: { a: '\ud800' } }, 'HYPERFLEET-VAL-006'],
      ['a poisoned prototype', '{"name":"one","spec":{"__proto__":{"a":1}}}', 'HYPERFLEET-VAL-006'],
      ['endless nesting', `{"name":"one","spec":${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}}`, 'HYPERFLEET-VAL-006'],
    ])('refuses a request with %s', async (_case, body, code) => {
      const api = await serve(await fresh())
      const answer = await api.call('POST', '/clusters', body)
      expect([answer.status, answer.body.code]).toEqual([400, code])
      expect(answer.headers.get('content-type')).toBe('application/problem+json')
      expect((await api.call('GET', '/clusters')).body.total).toBe(0)
    })

    test('tells everything that is wrong with the labels at once', async () => {
      const api = await serve(await fresh())
      const { body } = await api.call('POST', '/clusters', {
        name: 'one',
        spec: {},
        labels: { 'a b': 'x', ok: 'y', c: 'd e' },
      })
      expect(body.errors.map(({ field }: { field: string }) => field)).toEqual(['labels.a b', 'labels.c'])
    })
  })

  describe('patch', () => {
    test('replaces the spec: next generation, not ready, and nothing else moves', async () => {
      const api = await serve(await fresh())
      const { id } = await api.cluster('one', { region: 'eu' })
      await api.report(`/clusters/${id}`, { adapter: 'dns' })
      const { status, body } = await api.call('PATCH', `/clusters/${id}`, { spec: { b: 1 } })
      expect(status).toBe(200)
      expect(body).toMatchObject({
        generation: 2,
        spec: { b: 1 },
        labels: { region: 'eu' },
        status: { phase: 'NotReady' },
      })
      expect(conditionsOf(body)).toMatchObject({
        Ready: { status: 'False', observed_generation: 2 },
        Available: { status: 'True', observed_generation: 1 },
      })
    })

    test('that changes nothing but the order of keys touches nothing', async () => {
      const api = await serve(await fresh())
      const { body } = await api.call('POST', '/clusters', { name: 'one', spec: { a: 1, b: { c: 1, d: 2 } } })
      const patched = await api.call('PATCH', `/clusters/${body.id}`, { spec: { b: { d: 2, c: 1 }, a: 1 }, labels: {} })
      expect(patched.body).toEqual(body)
    })

    test('of labels counts as a new generation, and {} removes them', async () => {
      const api = await serve(await fresh())
      const { id } = await api.cluster('one', { region: 'eu' })
      const { body } = await api.call('PATCH', `/clusters/${id}`, { labels: {} })
      expect(body.generation).toBe(2)
      expect(body).not.toHaveProperty('labels')
      expect((await api.call('GET', '/clusters?labels=region')).body.total).toBe(0)
    })

    test.each([
      ['an unknown field', { name: 'two' }, 'HYPERFLEET-VAL-006'],
      ['nothing', {}, 'HYPERFLEET-VAL-005'],
      ['null labels alone', { labels: null }, 'HYPERFLEET-VAL-005'],
      ['a spec that is no object', { spec: [] }, 'HYPERFLEET-VAL-000'],
    ])('with %s is refused', async (_case, body, code) => {
      const api = await serve(await fresh())
      const { id } = await api.cluster('one')
      const answer = await api.call('PATCH', `/clusters/${id}`, body)
      expect([answer.status, answer.body.code]).toEqual([400, code])
    })

    test('of a label that is named like what every object of JavaScript has takes it away', async () => {
      const api = await serve(await fresh())
      const { id } = await api.cluster('one', { constructor: 'x', valueOf: 'x' })
      await api.call('PATCH', `/clusters/${id}`, { labels: {} })
      for (const key of ['constructor', 'valueOf'])
        expect((await api.call('GET', `/clusters?size=10&labels=${key}%3Dx`)).body.items).toEqual([])
    })

    test('twenty at once are twenty generations', async () => {
      const api = await serve(await fresh())
      const { id } = await api.cluster('one')
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) => api.call('PATCH', `/clusters/${id}`, { spec: { n } })),
      )
      expect(new Set(answers.map(({ body }) => body.generation)).size).toBe(20)
      expect((await api.call('GET', `/clusters/${id}`)).body.generation).toBe(21)
    })
  })

  describe('list', () => {
    test('pages newest first, with page, size and total', async () => {
      const api = await serve(await fresh())
      for (const name of ['one', 'two', 'three']) await api.cluster(name)
      const { body } = await api.call('GET', '/clusters?page=2&size=2')
      expect({ ...body, items: body.items.map(({ name }: { name: string }) => name) }).toEqual({
        items: ['one'],
        page: 2,
        size: 1,
        total: 3,
      })
      expect((await api.call('GET', '/clusters?page=9')).body).toMatchObject({ items: [], total: 3 })
    })

    test('takes every selector operator of Kubernetes; a missing label satisfies NotIn and DoesNotExist', async () => {
      const api = await serve(await fresh())
      await api.cluster('eu1', { region: 'eu', tier: 'prod' })
      await api.cluster('us1', { region: 'us' })
      await api.cluster('none')
      const select = async (labels: string) => {
        const { body } = await api.call('GET', `/clusters?order=name&labels=${encodeURIComponent(labels)}`)
        return body.items?.map(({ name }: { name: string }) => name) ?? body
      }
      expect(await select('region=eu')).toEqual(['eu1'])
      expect(await select('region in (eu,us)')).toEqual(['eu1', 'us1'])
      expect(await select('region!=eu')).toEqual(['none', 'us1'])
      expect(await select('region notin (eu,us)')).toEqual(['none'])
      expect(await select('region')).toEqual(['eu1', 'us1'])
      expect(await select('!region')).toEqual(['none'])
      expect(await select('region,tier=prod')).toEqual(['eu1'])
      expect(await select('')).toEqual(['eu1', 'none', 'us1'])
      expect(await select('region=')).toEqual([])
      expect(await select('region in (')).toMatchObject({ status: 400, code: 'HYPERFLEET-VAL-005' })
    })

    test('after=<id> visits every resource once, also when some come and go between the pages', async () => {
      const api = await serve(await fresh())
      const ids: string[] = []
      for (let n = 0; n < 7; n += 1) ids.push((await api.cluster(`c-${n}`)).id)
      const seen: string[] = []
      for (let after = ''; ; ) {
        const { body } = await api.call('GET', `/clusters?size=3&fields=id&after=${after}`)
        seen.push(...body.items.map(({ id }: { id: string }) => id))
        if (body.items.length < 3) break
        after = body.items.at(-1).id
        await api.call('DELETE', `/clusters/${seen[0]}`)
      }
      expect(seen).toEqual(ids)
    })

    test('searches as the peer’s Sentinel does: labels, conditions and their times', async () => {
      const api = await serve(await fresh())
      const ready = await api.cluster('ready', { region: 'eu' })
      await api.cluster('waiting', { region: 'eu' })
      await api.cluster('other', { region: 'us' })
      await api.report(`/clusters/${ready.id}`, { adapter: 'dns' })
      const search = async (text: string) => {
        const { body } = await api.call('GET', `/clusters?order=name&search=${encodeURIComponent(text)}`)
        return body.items?.map(({ name }: { name: string }) => name) ?? body
      }
      expect(await search("labels.region='eu'")).toEqual(['ready', 'waiting'])
      expect(await search("labels.region='eu' and status.conditions.Ready='False'")).toEqual(['waiting'])
      expect(
        await search(
          "status.conditions.Reconciled='True' and status.conditions.Reconciled.last_updated_time<'2026-01-01T00:00:01Z'",
        ),
      ).toEqual(['ready'])
      expect(await search("status.conditions.Ready.last_updated_time>'2026-01-01T00:00:01Z'")).toEqual([])
      expect(await search("labels.region in ['eu','us'] and not name='other'")).toEqual(['ready', 'waiting'])
      expect(await search("labels.non_existing_label='value'")).toEqual([])
      for (const refused of ["spec='b'", "labels.region ~= 'x'", 'name', "kind='Cluster') or (name='zz'", 'name in []'])
        expect(await search(refused)).toMatchObject({ status: 400, code: 'HYPERFLEET-VAL-005' })
    })

    test('a search never leaves its kind', async () => {
      const api = await serve(await fresh())
      const { id } = await api.cluster('one')
      await api.call('POST', `/clusters/${id}/nodepools`, { name: 'workers', spec: {} })
      const { body } = await api.call(
        'GET',
        `/clusters?search=${encodeURIComponent("kind='NodePool' or name='workers'")}`,
      )
      expect(body.total).toBe(0)
    })

    test('fields gives what was asked for, and the id', async () => {
      const api = await serve(await fresh())
      const { id } = await api.cluster('one', { region: 'eu' })
      const { body } = await api.call('GET', '/clusters?fields=name,labels,status.phase,status.conditions.type')
      expect(body.items).toEqual([
        {
          id,
          name: 'one',
          labels: { region: 'eu' },
          status: {
            phase: 'NotReady',
            conditions: ['Available', 'Ready', 'LastKnownReconciled', 'Reconciled'].map((type) => ({ type })),
          },
        },
      ])
    })

    test.each([
      'page=0',
      'page=x',
      'size=101',
      'size=0',
      'size=1&size=2',
      'order=nope',
      'order=name%20up',
      'fields=nope',
      'fields=status.nope',
      'labels=%00',
      'search=%27',
    ])('refuses %s', async (query) => {
      const api = await serve(await fresh())
      expect((await api.call('GET', `/clusters?${query}`)).status).toBe(400)
    })
  })

  test('words of what is refused are the peer’s', async () => {
    const api = await serve(await fresh())
    const { id } = await api.cluster('one')
    const detail = async (method: string, path: string, body: unknown) =>
      (await api.call(method, path, body)).body.detail
    expect(await detail('PATCH', `/clusters/${id}`, { name: 'two' })).toBe(
      'Invalid request format: json: unknown field "name"',
    )
    expect(await detail('POST', '/clusters', { name: 111, spec: {} })).toBe("field 'name' must be a string")
    expect(await detail('POST', '/clusters', { kind: 'NodePool', name: 'two', spec: {} })).toBe(
      "kind must be 'Cluster'",
    )
    expect(await detail('GET', '/clusters/nobody', undefined)).toBe("Cluster with id='nobody' not found")
  })

  test('what is refused says what to write', async () => {
    const api = await serve(await fresh())
    const detail = async (method: string, path: string, body: unknown) =>
      (await api.call(method, path, body)).body.detail
    expect(await detail('POST', '/clusters', '{"name": "one", "spec": {}')).toBe(
      "the body is no JSON: Expected ',' or '}' after property value in JSON at position 26 (line 1 column 27)",
    )
    expect(await detail('POST', '/clusters', '{"name": "one", "spec": {"__proto__": {}}}')).toBe(
      'the body must not have the keys __proto__ or constructor.prototype',
    )
    expect(await detail('PUT', '/events/consumers/DNS', { resourceType: 'clusters' })).toBe(
      'name must be at most 63 lower case letters, digits and inner hyphens, such as dns',
    )
    await api.call('PUT', '/events/consumers/dns', { resourceType: 'clusters' })
    expect(await detail('POST', '/events/consumers/dns/claims', { wait: '5' })).toBe(
      'wait must be a number with its unit: ms, s, m or h, such as 30s',
    )
  })

  test('kinds come from the configuration alone', async () => {
    const entities = [
      { kind: 'Channel', plural: 'channels' },
      { kind: 'Version', plural: 'versions', parent_kind: 'Channel', on_parent_delete: 'restrict' as const },
    ]
    const api = await serve({ ...(await fresh()), entities })
    const channel = await api.call('POST', '/channels', { name: 'stable', spec: {} })
    expect(channel.body.status).toEqual({ phase: 'Ready', conditions: [] })
    const version = await api.call('POST', `/channels/${channel.body.id}/versions`, { name: 'v1', spec: {} })
    expect((await api.call('DELETE', `/channels/${channel.body.id}`)).status).toBe(409)
    expect((await api.call('DELETE', `/versions/${version.body.id}`)).status).toBe(202)
    expect((await api.call('DELETE', `/channels/${channel.body.id}`)).status).toBe(202)
    expect((await api.call('GET', `/channels/${channel.body.id}`)).status).toBe(404)
    expect((await api.call('GET', '/clusters')).status).toBe(404)
  })

  test('unknown paths and methods are told from each other', async () => {
    const api = await serve(await fresh())
    expect((await api.call('GET', '/nope')).body.code).toBe('HYPERFLEET-NTF-000')
    const wrong = await api.call('PUT', '/clusters', {})
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, POST'])
    expect((await api.call('GET', '/clusters/')).status).toBe(200)
    expect((await api.call('GET', '/clusters/nobody')).body).toMatchObject({
      status: 404,
      code: 'HYPERFLEET-NTF-001',
      detail: "Cluster with id='nobody' not found",
    })
  })
})
