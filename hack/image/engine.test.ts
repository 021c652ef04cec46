import { expect, test } from 'vitest'
import { ENGINES, findEngine, type Order } from './engine.ts'

const ORDER: Order = {
  tag: 'registry.example.com/muster:v1',
  args: { COMMIT: 'abc', TIME: '1970-01-01T00:00:07Z' },
  epoch: 7,
  idFile: '/tmp/id',
}

const commands = (order: Order) => ENGINES.map((engine) => [engine.name, ...engine.command(order)].join(' '))

test('every engine builds the same: by the values of the ARGs, and with the commit’s time on every file', () => {
  expect(commands(ORDER)).toMatchInlineSnapshot(`
    [
      "docker buildx build --provenance=false --iidfile=/tmp/id --build-arg=COMMIT=abc --build-arg=TIME=1970-01-01T00:00:07Z --build-arg=SOURCE_DATE_EPOCH=7 --output=type=docker,name=registry.example.com/muster:v1,rewrite-timestamp=true .",
      "podman build --iidfile=/tmp/id --build-arg=COMMIT=abc --build-arg=TIME=1970-01-01T00:00:07Z --timestamp=7 --tag=registry.example.com/muster:v1 .",
      "buildah build --iidfile=/tmp/id --build-arg=COMMIT=abc --build-arg=TIME=1970-01-01T00:00:07Z --timestamp=7 --tag=registry.example.com/muster:v1 .",
    ]
  `)
})

test('without a commit’s time, files have the time of the build', () => {
  for (const command of commands({ ...ORDER, epoch: undefined })) expect(command).not.toMatch(/timestamp|EPOCH/)
})

test('an engine that there is not is an error with those that there are', async () => {
  await expect(findEngine('dokcer')).rejects.toThrow(
    'There is no engine "dokcer": write one of docker, podman, buildah',
  )
})

test('where none works, the reason of each is said, and what to do', async () => {
  const path = process.env.PATH
  process.env.PATH = '/nowhere'
  try {
    await expect(findEngine()).rejects.toThrow(
      'Nothing here can build an image:\n  - docker: not installed\n  - podman: not installed\n  - buildah: not installed\nStart Docker',
    )
  } finally {
    process.env.PATH = path
  }
})
