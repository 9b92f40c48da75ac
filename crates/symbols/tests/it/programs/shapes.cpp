// Templates, operators, lambdas, virtual calls and names in anonymous namespaces.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace shapes {
struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
};
struct Circle : Shape {
    double r;
    explicit Circle(double r) : r(r) {}
    double area() const override { return 3.14159 * r * r; }
};
struct Square : Shape {
    double a;
    explicit Square(double a) : a(a) {}
    double area() const override { return a * a; }
};
template <typename T, int N> struct Ring {
    T items[N] = {};
    unsigned at = 0;
    Ring &operator<<(const T &item) {
        items[at++ % N] = item;
        return *this;
    }
    T sum() const {
        T total = T();
        for (const T &item : items) total += item;
        return total;
    }
};
} // namespace shapes

namespace {
__attribute__((noinline)) double hidden(const std::vector<std::unique_ptr<shapes::Shape>> &all) {
    double total = 0;
    std::for_each(all.begin(), all.end(), [&](const auto &shape) { total += shape->area(); });
    return total;
}
} // namespace

int main(int argc, char **) {
    std::vector<std::unique_ptr<shapes::Shape>> all;
    std::map<std::string, int> names;
    shapes::Ring<double, 8> ring;
    for (int i = 0; i < 100 * argc; i++) {
        if (i % 2) all.push_back(std::make_unique<shapes::Circle>(i));
        else all.push_back(std::make_unique<shapes::Square>(i));
        names[std::to_string(i)] = i;
        ring << double(i);
    }
    std::printf("%f %zu %f\n", hidden(all), names.size(), ring.sum());
}
