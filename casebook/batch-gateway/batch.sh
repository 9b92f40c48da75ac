# The batch program: answers each row of its input. Usage: batch.sh < INPUT
while read -r row; do
    echo "done: $row"
done
