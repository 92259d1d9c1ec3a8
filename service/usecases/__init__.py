"""One async function per thing that a person or a worker does. Stores come in as the first argument."""
