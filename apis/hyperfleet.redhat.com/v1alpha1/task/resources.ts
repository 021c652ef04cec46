/** What a task applies, finds and deletes. */
import Type from 'typebox'
import { free } from '#apis/schema/free.ts'
import { rules } from '#apis/schema/rule.ts'
import { headers, resourceName, template, when } from './words.ts'

export const POLICIES = ['Background', 'Foreground', 'Orphan'] as const

const policy = () =>
  Type.Optional(
    Type.Enum([...POLICIES], {
      description:
        'Treatment of dependants, as Kubernetes means it: Background (the default) deletes them after it, Foreground before it, Orphan leaves them; an orphaned deletion is not waited for.',
    }),
  )

const discovery = (description: string) =>
  Type.Object(
    {
      namespace: Type.Optional(template('Where to look; "*" or nothing for everywhere, or for what has no namespace.')),
      by_name: Type.Optional(template('The name.')),
      by_selectors: Type.Optional(
        Type.Object(
          {
            label_selector: Type.Record(Type.String(), template('Value of the label.'), {
              description: 'Labels with exactly these values.',
              maxProperties: 32,
            }),
          },
          { description: 'All that have these labels.' },
        ),
      ),
    },
    {
      description,
      ...rules({
        rule: 'has(self.by_name) != has(self.by_selectors)',
        message: 'must have either by_name or by_selectors',
      }),
    },
  )

const transport = () =>
  Type.Optional(
    Type.Object(
      {
        client: Type.Optional(
          Type.Enum(['kubernetes', 'maestro', 'http'], {
            description:
              'kubernetes (the default) applies to this cluster; maestro applies a ManifestWork to the namespace of its target cluster; http sends the manifest to a URL.',
          }),
        ),
        maestro: Type.Optional(
          Type.Object(
            { target_cluster: template('The cluster that the ManifestWork is for.') },
            { description: 'For the client maestro.' },
          ),
        ),
        http: Type.Optional(
          Type.Object(
            {
              url: template('The object’s own URL: PUT applies, GET reads, DELETE deletes.'),
              create_url: Type.Optional(
                template('Where an object that is not there is created by POST, instead of PUT.'),
              ),
              headers: headers(),
            },
            { description: 'For the client http.' },
          ),
        ),
      },
      { description: 'How the resource is reached.' },
    ),
  )

const lifecycle = () =>
  Type.Optional(
    Type.Object(
      {
        create: Type.Optional(
          Type.Object(
            { when: when('While it is absent, it is created only when this is true.') },
            { description: 'When it comes.' },
          ),
        ),
        delete: Type.Optional(
          Type.Object(
            {
              propagationPolicy: policy(),
              propagation_policy: policy(),
              when: when('Deletes it, also when the rest of the task is not being deleted.'),
            },
            { description: 'When and how it goes.' },
          ),
        ),
      },
      { description: 'When this one resource comes and goes.' },
    ),
  )

const deleteOptions = () =>
  Type.Optional(
    Type.Object(
      {
        propagation_policy: policy(),
        after: Type.Optional(
          Type.Array(resourceName('Name of a resource.'), {
            description: 'It is deleted once these are gone. Nothing named anywhere: in the reverse order of the list.',
            maxItems: 64,
            'x-kubernetes-list-type': 'atomic',
          }),
        ),
      },
      { description: 'How it is deleted when the task is in deletion mode.' },
    ),
  )

export const resources = () =>
  Type.Optional(
    Type.Array(
      Type.Object(
        {
          name: resourceName('Under which expressions know it: resources.<name>.'),
          transport: transport(),
          manifest: free(
            { description: 'Manifest to apply: an object, a block of YAML with templates, or {ref: file}.' },
            Type.String({ minLength: 1 }),
            Type.Object({ ref: Type.String({ minLength: 1 }) }),
            Type.Record(Type.String(), Type.Unknown()),
          ),
          discovery: Type.Optional(discovery('How it is found again.')),
          nested_discoveries: Type.Optional(
            Type.Array(
              Type.Object(
                {
                  name: resourceName('Under which expressions know it: resources.<name>.'),
                  discovery: discovery('How it is found inside the resource.'),
                },
                { description: 'An object inside a ManifestWork.' },
              ),
              {
                description: 'Objects inside a ManifestWork that expressions read.',
                maxItems: 64,
                'x-kubernetes-list-type': 'atomic',
              },
            ),
          ),
          recreate_on_change: Type.Optional(
            Type.Boolean({ description: 'A new generation deletes and creates it, instead of changing it.' }),
          ),
          adopt: Type.Optional(
            Type.Boolean({
              description:
                'Also objects that the discovery finds and the task has not applied are its own, and are deleted. Default: false.',
            }),
          ),
          lifecycle: lifecycle(),
          delete_options: deleteOptions(),
        },
        { description: 'A resource of the task.' },
      ),
      {
        description: 'Resources that the task applies, in this order.',
        maxItems: 64,
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
      },
    ),
  )
